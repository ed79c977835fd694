// Copying of an answer.

import { t } from "./language.js";

const COPIED_MILLISECONDS = 2000;

/** Copy the answer as Markdown for plain text fields, and as rich text for documents. */
export async function copyAnswer(article, button, { url, tell, onTrouble }) {
  const text = fetch(`${url}${article.dataset.seq}/text/`).then(readText);
  const types = { "text/plain": text.then((markdown) => new Blob([markdown], { type: "text/plain" })) };
  types["text/html"] = new Blob([richText(article)], { type: "text/html" });
  try {
    await navigator.clipboard.write([new ClipboardItem(types)]);
    showCopied(button);
    tell(t("Copied."));
  } catch {
    onTrouble(t("The answer could not be copied. Try again."));
  }
}

function readText(response) {
  if (!response.ok) throw new Error(`${response.status}`);
  return response.text();
}

function richText(article) {
  const texts = [...article.querySelectorAll(":scope > .prose")].map((text) => text.cloneNode(true));
  for (const text of texts) {
    text.querySelectorAll(".code-head").forEach((head) => head.remove());
    for (const code of text.querySelectorAll("pre code")) code.textContent = code.textContent; // without its colours
  }
  return texts.map((text) => text.innerHTML).join("");
}

function showCopied(button) {
  button.dataset.done = "";
  setTimeout(() => delete button.dataset.done, COPIED_MILLISECONDS);
}
