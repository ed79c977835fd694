// Reloads a page, once, whose scripts could not be loaded: when the network changes, a browser breaks off all requests.
// `templates/chat/not_started.html` is for pages that this does not help.

const RELOADED_AT = "reloaded at";
const DELAY = 1000; // until the network is back
const MIN_INTERVAL = 60000;

function handleError({ target }) {
  if (target instanceof HTMLScriptElement) setTimeout(reload, DELAY, target.src);
}

async function reload(script) {
  const reloadedAt = Number(sessionStorage.getItem(RELOADED_AT));
  const hasText = [...document.querySelectorAll("textarea")].some(({ value }) => value); // which would be lost
  if (hasText || Date.now() - reloadedAt < MIN_INTERVAL) return;
  const response = await fetch(script, { cache: "no-store" }).catch(() => null);
  if (!response?.ok) return; // the browser would show its own page of errors
  sessionStorage.setItem(RELOADED_AT, String(Date.now()));
  location.reload();
}

addEventListener("error", handleError, true); // these errors do not bubble
