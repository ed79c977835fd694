// Pages of the owners of knowledge bases: uploads with their progress, and news of versions that are being read.

import { make, moveFocus, parse } from "./dom.js";
import { t } from "./language.js";
import { readPart } from "./requests.js";
import { forgetOnSignOut } from "./storage.js";
import { showLocalTimes } from "./times.js";
import { problemOf } from "./upload_files.js";

const PAUSE = 2_000; // milliseconds between two looks at versions that are being read

showLocalTimes(document);
forgetOnSignOut();
addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !("upload" in form.dataset)) return;
  event.preventDefault();
  upload(form);
});
setTimeout(look, PAUSE);

function upload(form) {
  const problem = problemOf(form.elements.file.files[0], form.dataset);
  if (problem) return complain(problem);
  const request = new XMLHttpRequest();
  const bar = form.querySelector("progress");
  const button = form.querySelector("button");
  const fail = (sentence) => {
    bar.hidden = true;
    button.disabled = false;
    complain(sentence);
  };
  bar.hidden = false;
  button.disabled = true;
  request.upload.onprogress = ({ loaded, total }) => {
    bar.value = loaded / total;
  };
  request.onerror = () => fail(t("No connection."));
  request.onload = () => {
    const main = parse(request.responseText).querySelector("main:has([data-outcome])");
    if (main) show(main, request.responseURL);
    else fail(t("The server did not take the file. Reload the page, then try again."));
  };
  request.open("POST", location.href);
  request.send(new FormData(form));
}

// The request has followed the redirect to the first page of the documents, which has the outcome as a sentence.
function show(main, address) {
  history.replaceState(null, "", address);
  showLocalTimes(main);
  document.querySelector("main").replaceWith(main);
  tell(...main.querySelector("[data-outcome]").childNodes);
}

function complain(sentence) {
  tell(Object.assign(make("p", "card error", sentence), { role: "alert" }));
}

function tell(...sentences) {
  const outcome = document.querySelector("[data-outcome]");
  outcome.replaceChildren(...sentences);
  moveFocus(outcome);
  outcome.scrollIntoView({ block: "nearest" });
}

// Only the lines of versions are replaced: forms keep the chosen file and the focus.
async function look() {
  if (!document.hidden && document.querySelector("[data-open]"))
    await readPart(location.href).then(showVersions, () => {}); // offline or signed out: the next look may succeed
  setTimeout(look, PAUSE);
}

function showVersions(fresh) {
  showLocalTimes(fresh);
  for (const versions of document.querySelectorAll("[data-versions]")) {
    const changed = fresh.querySelector(`#${versions.id}`);
    if (changed) versions.replaceWith(changed);
  }
}
