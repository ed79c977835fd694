// Requests that change something. A project may serve the pages below any path, which the root element names.

import { t } from "./language.js";

/** Return the address of a page, by its path below the home page. */
export function addressOf(path) {
  return `${document.documentElement.dataset.home}${path}`;
}

/** Post fields to the server; return its response. Rejects without a connection. */
export function post(url, fields = {}) {
  const { value } = document.querySelector("[name=csrfmiddlewaretoken]");
  return fetch(url, { method: "POST", body: new URLSearchParams({ ...fields, csrfmiddlewaretoken: value }) });
}

/** Post a frame to a chat, as JSON; return the response. Rejects without a connection. */
export function postFrame(url, body) {
  const { value } = document.querySelector("[name=csrfmiddlewaretoken]");
  return fetch(url, { method: "POST", headers: { "X-CSRFToken": value }, body });
}

/** Return a sentence for the person about a request that was refused or failed; an empty one after success. */
export async function problemOf(request) {
  const response = await request.catch(() => null);
  if (!response) return t("There is no connection. Try again.");
  if (response.redirected) return t("You are signed out. Reload the page to sign in.");
  if (response.ok) return "";
  const { error, message } = await response.json().catch(() => ({}));
  return error ?? message ?? t("This did not work. Try again.");
}

/** Rename, pin, archive or delete a chat, or do the opposite. Throws an Error with a sentence for the person. */
export async function changeChat(id, change, fields) {
  const problem = await problemOf(post(addressOf(`chat/${id}/${change}/`), fields));
  if (problem) throw new Error(problem);
}
