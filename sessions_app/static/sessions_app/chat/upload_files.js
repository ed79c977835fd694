// Uploads: each file is sent at once, and shown above the message with its progress.

import { make, makeAuto, makeButton } from "./dom.js";
import { list, locale, plural, t } from "./language.js";
import { post } from "./posts.js";

const MAX_NAMES = 20;
const NAME_START = 40; // characters of a long name in a sentence
const NAME_END = 15;
const NOT_PRINTABLE = /\p{C}/gu; // the server removes them as well; U+202E would turn round the sentence around a name
const MAX_BEGINNING = 200; // characters of a pasted text that its entry shows
const KILOBYTE = 1024;
const MEGABYTE = KILOBYTE * KILOBYTE;
const NO_NAME = /(^|[/\\])\.{0,2}$/; // the server ignores such files
const WAIT = t("Wait until the files are uploaded.");
const notStored = new Set(); // files that are lost when the page is left

addEventListener("beforeunload", (event) => notStored.size && event.preventDefault());

/** Upload files; show a sentence about the files beyond a limit. `beginning` is that of a pasted text. */
export function upload(uploads, files, beginning = "") {
  const { mostFiles } = uploads.region.dataset;
  const beyond = [];
  const problems = [];
  for (const file of files) {
    const name = file.name.replace(NOT_PRINTABLE, "");
    const problem = problemOf(file, uploads.region.dataset);
    if (uploads.items.length >= mostFiles) beyond.push(name);
    else if (problem) problems.push(problem);
    else send(uploads, { name, file, facts: inWords(file.size), beginning });
  }
  const names = list([...beyond.slice(0, MAX_NAMES).map(shorten), beyond.length > MAX_NAMES && "…"]);
  if (beyond.length)
    problems.push(
      plural(
        "A message may have {count} file. Not attached: {names}",
        "A message may have {count} files. Not attached: {names}",
        mostFiles,
        { names },
      ),
    );
  uploads.onProblem(problems.join(" "));
}

/** Tell the person why the files cannot be sent yet. */
export function refuse(uploads) {
  const names = namesOf(failed(uploads));
  uploads.onProblem(
    names.length
      ? plural(
          "Remove the file that was not uploaded, or try again: {names}",
          "Remove the files that were not uploaded, or try again: {names}",
          names.length,
          { names: list(names) },
        )
      : WAIT,
  );
}

/** Show the files of the message. The entry of a file stays in the document, and with it the focus. */
export function show(uploads) {
  for (const item of uploads.items) {
    item.chip ??= makeChip(uploads, item);
    fill(uploads, item);
  }
  const chips = uploads.items.map(({ chip }) => chip);
  for (const chip of [...uploads.region.children]) if (!chips.includes(chip)) chip.remove();
  uploads.region.append(...chips.filter((chip) => !chip.isConnected));
}

/** Tell the server that a file is not wanted. The server keeps files that a message refers to. */
export function discard(uploads, item) {
  notStored.delete(item);
  if (item.state !== "ready") item.request.abort();
  else if (!item.isSent)
    post(uploads.region.dataset.removeUrl, { name: item.name, version: item.version }).catch(() => {});
}

/** Upload a text as a file. U+FFFD replaces characters that a message cannot have, either. */
export function uploadText(uploads, text) {
  const names = new Set(uploads.items.map(({ name }) => name));
  let name = "pasted.txt";
  for (let number = 2; names.has(name); number += 1) name = `pasted-${number}.txt`;
  const file = new File([text.replaceAll("\0", "\ufffd")], name, { type: "text/plain" });
  upload(uploads, [file], text.slice(0, MAX_BEGINNING).toWellFormed());
}

/** Return a sentence about a file that the server would refuse; an empty one for any other. */
export function problemOf(file, { mostBytes, accept }) {
  const { size, type } = file;
  const name = shorten(file.name.replace(NOT_PRINTABLE, ""));
  if (NO_NAME.test(name)) return t("A file with the name “{name}” cannot be uploaded. Rename it.", { name });
  if (size === 0) return t("“{name}” is empty, or a folder. Choose another file.", { name });
  const most = Number(mostBytes);
  if (size > most)
    return t("“{name}” has {size}; the limit is {most}.", {
      name,
      size: inWords(Math.max(size, most + tenthOfUnit(most))),
      most: inWords(most),
    });
  const isAccepted = (pattern) => pattern === type || (pattern.endsWith("/*") && type.startsWith(pattern.slice(0, -1)));
  if (accept && type && !accept.split(",").some(isAccepted))
    return t("“{name}” is of the type {type}. Files may be: {accept}.", { name, type, accept });
  return "";
}

function send(uploads, item) {
  const request = new XMLHttpRequest();
  const form = new FormData();
  form.append("csrfmiddlewaretoken", document.querySelector("[name=csrfmiddlewaretoken]").value);
  form.append("file", item.file);
  Object.assign(item, { state: "uploading", request, progress: 0 });
  notStored.add(item);
  if (!uploads.items.includes(item)) uploads.items.push(item);
  request.upload.onprogress = ({ loaded, total }) => {
    item.progress = loaded / total;
    item.bar?.setAttribute("value", item.progress);
  };
  request.onload = () => finish(uploads, item, request);
  request.onerror = () => fail(uploads, item, t("No connection."));
  request.open("POST", uploads.region.dataset.url);
  request.send(form);
  uploads.update();
}

function finish(uploads, item, request) {
  const answer = readJson(request.responseText);
  if (request.status !== 201) {
    fail(uploads, item, answer.error ?? t("The server did not take the file. Reload the page, then try again."));
    return;
  }
  const { name, version, facts, url, preview_url: preview, is_image: isImage } = answer;
  Object.assign(item, { name, version, facts, url, preview, isImage, state: "ready", file: null });
  notStored.delete(item);
  tell(t("{name} is attached.", { name }));
  const isWaitedFor = document.querySelector("#notice p").textContent === WAIT;
  if (isWaitedFor && uploads.items.every(({ state }) => state === "ready")) uploads.onProblem("");
  uploads.onStored();
  uploads.update();
}

function fail(uploads, item, reason) {
  Object.assign(item, { state: "failed", reason });
  uploads.update();
  const items = new Set([...failed(uploads), item]); // its text may be out of view
  const groups = Map.groupBy(items, (other) => other.reason);
  const sentences = [...groups].map(([words, alike]) =>
    t("Not uploaded: {names}. {reason}", { names: list(namesOf(alike)), reason: words }),
  );
  uploads.onProblem(sentences.join(" "));
}

async function remove(uploads, item) {
  discard(uploads, item);
  tell(t("{name} was removed.", { name: item.name }));
  uploads.onProblem("");
  const neighbour = item.chip.nextElementSibling ?? item.chip.previousElementSibling;
  await uploads.remove(item);
  (neighbour?.lastElementChild ?? messageField()).focus();
}

function retry(uploads, item) {
  messageField().focus(); // the button disappears
  uploads.onProblem("");
  send(uploads, item);
}

function makeChip(uploads, item) {
  const chip = make("li", "upload");
  chip.append(makeButton("icon", "×", () => remove(uploads, item)));
  return chip;
}

// Show the file's state before the button that removes it.
function fill(uploads, item) {
  const { chip, name, state, preview, beginning } = item;
  if (chip.dataset.state === state) return;
  chip.dataset.state = state;
  const button = chip.lastElementChild;
  button.setAttribute("aria-label", t("Remove {name}", { name }));
  const words = make(preview ? "a" : "span", "upload-words");
  if (preview) Object.assign(words, { href: item.url }).dataset.preview = preview;
  words.append(makeAuto("span", "upload-name", name));
  if (beginning) words.append(makeAuto("span", "upload-beginning", beginning));
  words.append(make("small", "", state === "failed" ? t("Not uploaded") : item.facts));
  while (chip.firstChild !== button) chip.firstChild.remove();
  if (item.isImage) button.before(Object.assign(document.createElement("img"), { src: item.url, alt: "" }));
  button.before(words);
  if (state === "uploading") {
    item.bar = makeBar(item);
    button.before(item.bar);
  }
  if (state === "failed") button.before(makeRetry(uploads, item));
}

function makeRetry(uploads, item) {
  const button = makeButton("plain", t("Retry"), () => retry(uploads, item));
  button.setAttribute("aria-label", t("Retry {name}", { name: item.name }));
  return button;
}

function makeBar(item) {
  const bar = document.createElement("progress");
  bar.setAttribute("aria-label", t("Upload of {name}", { name: item.name }));
  bar.setAttribute("value", item.progress);
  return bar;
}

const failed = ({ items }) => items.filter(({ state }) => state === "failed");
const namesOf = (items) => items.map(({ name }) => shorten(name));

/** Return a name for a sentence: the middle of a long one is left out. */
function shorten(name) {
  const characters = [...name];
  if (characters.length <= NAME_START + NAME_END) return name;
  return `${characters.slice(0, NAME_START).join("")}…${characters.slice(-NAME_END).join("")}`;
}

function messageField() {
  return document.getElementById("message");
}

function tell(sentence) {
  document.getElementById("uploads-status").textContent = sentence;
}

function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {}; // the page of a sign-in or a proxy
  }
}

/** Return how far sizes must lie apart to read differently: they are rounded to a tenth of their unit. */
function tenthOfUnit(bytes) {
  if (bytes < KILOBYTE) return 0;
  return (bytes < MEGABYTE ? KILOBYTE : MEGABYTE) / 10;
}

function inWords(bytes) {
  if (bytes < KILOBYTE) return plural("{count} byte", "{count} bytes", bytes);
  const rounded = (size) => size.toLocaleString(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  return bytes < MEGABYTE
    ? t("{size} KB", { size: rounded(bytes / KILOBYTE) })
    : t("{size} MB", { size: rounded(bytes / MEGABYTE) });
}
