// Pages of the log, which the server renders with the invocations that began in them.

import { readPart } from "./requests.js";

/** Load the page of the log that ends before the event `seq`. Rejects without a connection. */
export async function readLogPage(url, seq) {
  const fragment = await readPart(`${url}?before=${seq}`);
  const { firstSeq, hasMore } = fragment.querySelector(".log-page").dataset;
  const invocations = embeddedInvocations(fragment);
  return { fragment, invocations, firstSeq: Number(firstSeq), hasMore: hasMore === "true" };
}

/** Return the invocations that the server embedded in pages of the log. */
export function embeddedInvocations(root) {
  const scripts = [...root.querySelectorAll('.log-page > script[type="application/json"]')];
  return scripts.flatMap((script) => JSON.parse(script.textContent));
}
