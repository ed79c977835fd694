// Outcomes of invocations that ended while the page was disconnected.

import { embeddedInvocations } from "./conversation.js";
import { parse } from "./dom.js";

/**
 * Return the invocations of the page of the log that ends with the event `seq`; none when the request failed.
 *
 * Invocations whose ids `updated` has are left out: their frames, which arrived during the request, are newer than the
 * response. `isEarlier` marks all but the last one, and with such frames that as well.
 */
export async function readInvocations(url, seq, updated) {
  const response = await fetch(`${url}?before=${seq + 1}`);
  const frames = response.ok ? embeddedInvocations(parse(await response.text())) : [];
  const isEarlier = (frame) => updated.size > 0 || frame !== frames.at(-1);
  return frames.filter(({ id }) => !updated.has(id)).map((frame) => ({ ...frame, isEarlier: isEarlier(frame) }));
}
