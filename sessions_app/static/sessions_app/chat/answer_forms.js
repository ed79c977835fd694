// Forms in which an answer is copied: Markdown for plain text fields, rich text for documents.

/** Return the Markdown of an answer, which the server has. */
export async function markdown(url) {
  const response = await fetch(url);
  if (!response.ok || response.redirected) throw new Error(`${response.status}`);
  return new Blob([await response.text()], { type: "text/plain" });
}

/** Return an answer as HTML. */
export function richText(article) {
  const texts = [...article.querySelectorAll(":scope > .prose")].map((text) => text.cloneNode(true));
  for (const text of texts) {
    text.querySelectorAll(".code-head").forEach((head) => head.remove());
    for (const code of text.querySelectorAll("pre code")) code.textContent = code.textContent; // without its colours
  }
  return new Blob([texts.map((text) => text.innerHTML).join("")], { type: "text/html" });
}
