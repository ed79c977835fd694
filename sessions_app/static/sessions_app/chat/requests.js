// Requests that read from the server.

import { parse } from "./dom.js";

/** Return the text of a page of the person. Throws an Error when offline, refused or signed out. */
export async function readText(url) {
  const response = await fetch(url);
  if (!response.ok || response.redirected) throw new Error(`${response.status}`);
  return response.text();
}

/** Return a part of a page that the server renders, as a fragment. Throws as `readText` does. */
export async function readPart(url) {
  return parse(await readText(url));
}
