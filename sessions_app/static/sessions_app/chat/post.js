// Requests by which a person changes something.

/** Post fields to the server; return its response. Rejects without a connection. */
export function post(url, fields = {}) {
  const { value } = document.querySelector("[name=csrfmiddlewaretoken]");
  return fetch(url, { method: "POST", body: new URLSearchParams({ ...fields, csrfmiddlewaretoken: value }) });
}
