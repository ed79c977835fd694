// Pages of the owners of knowledge bases: uploads with their progress, and news of versions that are being read.

import { make, moveFocus, parse } from "./dom.js";
import { t } from "./language.js";
import { forgetOnSignOut } from "./storage.js";
import { showLocalTimes } from "./times.js";

const PAUSE = 2_000; // milliseconds between two looks at versions that are being read

showLocalTimes(document);
forgetOnSignOut();
addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !("upload" in form.dataset)) return;
  event.preventDefault();
  upload(form);
});
setInterval(look, PAUSE);

function upload(form) {
  const request = new XMLHttpRequest();
  const bar = form.querySelector("progress");
  const button = form.querySelector("button");
  const fail = (sentence) => {
    bar.hidden = true;
    button.disabled = false;
    tell(Object.assign(make("p", "card error", sentence), { role: "alert" }));
  };
  bar.hidden = false;
  button.disabled = true;
  request.upload.onprogress = ({ loaded, total }) => {
    bar.value = loaded / total;
  };
  request.onerror = () => fail(t("No connection."));
  request.onload = () => {
    if (request.status === 200) show(request.responseText);
    else fail(t("The server did not take the file. Reload the page, then try again."));
  };
  request.open("POST", location.href);
  request.send(new FormData(form));
}

// The request has followed the redirect to this page, which then has the outcome as a sentence.
function show(html) {
  const main = parse(html).querySelector("main");
  showLocalTimes(main);
  document.querySelector("main").replaceWith(main);
  tell(...main.querySelector("[data-outcome]").childNodes);
}

function tell(...sentences) {
  const outcome = document.querySelector("[data-outcome]");
  outcome.replaceChildren(...sentences);
  moveFocus(outcome);
  outcome.scrollIntoView({ block: "nearest" });
}

// Only the lines of versions are replaced: forms keep the chosen file and the focus.
async function look() {
  if (document.hidden || !document.querySelector("[data-open]")) return;
  const response = await fetch(location.href).catch(() => null);
  if (!response?.ok) return;
  const fresh = parse(await response.text());
  showLocalTimes(fresh);
  for (const versions of document.querySelectorAll("[data-versions]")) {
    const changed = fresh.querySelector(`#${versions.id}`);
    if (changed) versions.replaceWith(changed);
  }
}
