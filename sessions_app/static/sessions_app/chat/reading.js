// Reading of answers aloud, by the browser's own voice.

import { t } from "./language.js";

const MAX_LENGTH = 200; // characters at once: some browsers fall silent in the middle of a long text
const BLOCKS = "p, li, h1, h2, h3, h4, h5, h6, dd, dt, figcaption, blockquote, [data-left-out]";
const LEFT_OUT = [
  ["pre", t("Code is left out.")],
  ["table", t("A table is left out.")],
  ["math", t("a formula")],
];
const SILENT = "button, .code-head, .cite, sup a, svg, .visually-hidden";
// Errors of an utterance that the person or another reading has ended.
const ENDED = ["canceled", "interrupted"];

let reading = null; // { button, label } of the answer that is read

addEventListener("pagehide", stop);

/** Read the answer aloud, or stop reading it. Another reading stops. */
export function toggleReading(article, button, { onProblem }) {
  const wasRead = reading?.button === button;
  stop();
  if (wasRead) return;
  const utterances = sentencesOf(article).map((text) => new SpeechSynthesisUtterance(text));
  if (!utterances.length) {
    onProblem(t("There is nothing to read aloud."));
    return;
  }
  const { lang } = article.closest("[lang]");
  for (const utterance of utterances) {
    utterance.lang = lang;
    utterance.addEventListener("error", ({ error }) => {
      if (ENDED.includes(error) || reading?.button !== button) return;
      stop();
      onProblem(t("This browser cannot read the answer aloud."));
    });
  }
  utterances.at(-1).addEventListener("end", () => reading?.button === button && stop());
  begin(button);
  for (const utterance of utterances) speechSynthesis.speak(utterance);
}

function begin(button) {
  reading = { button, label: button.ariaLabel };
  button.dataset.done = "";
  button.ariaLabel = t("Stop reading");
  button.title = button.ariaLabel;
}

function stop() {
  speechSynthesis.cancel();
  if (!reading) return;
  const { button, label } = reading;
  reading = null;
  delete button.dataset.done;
  button.ariaLabel = label;
  button.title = label;
}

// Sentences of the answer, with words in place of what cannot be read aloud.
function sentencesOf(article) {
  const texts = [...article.querySelectorAll(":scope > .prose")].map((prose) => prose.cloneNode(true));
  return texts.flatMap((prose) => {
    for (const silent of prose.querySelectorAll(SILENT)) silent.remove();
    for (const [selector, words] of LEFT_OUT)
      for (const element of prose.querySelectorAll(selector)) element.replaceWith(insteadOf(element, words));
    for (const block of prose.querySelectorAll(BLOCKS)) block.prepend("\n");
    return prose.textContent.split("\n").flatMap(partsOf);
  });
}

function insteadOf(element, words) {
  const place = document.createElement("span");
  place.textContent = element.matches("math") ? ` ${words} ` : words;
  place.toggleAttribute("data-left-out", !element.matches("math"));
  return place;
}

function partsOf(line) {
  const parts = [""];
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(line)) {
    if (parts.at(-1).length + segment.length > MAX_LENGTH) parts.push("");
    parts.push(parts.pop() + segment);
  }
  return parts.map((part) => part.trim()).filter(Boolean);
}
