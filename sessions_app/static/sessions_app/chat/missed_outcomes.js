// Outcomes of invocations that ended while the page was disconnected.

import { embeddedInvocations } from "./conversation.js";
import { parse } from "./dom.js";

/**
 * Return the invocations of the page of the log that ends with the event `seq`; none when the request failed.
 * `isEarlier` marks all but the last one.
 */
export async function readInvocations(url, seq) {
  const response = await fetch(`${url}?before=${seq + 1}`);
  const frames = response.ok ? embeddedInvocations(parse(await response.text())) : [];
  return frames.map((frame) => ({ ...frame, isEarlier: frame !== frames.at(-1) }));
}
