// Reloads a page, once, whose scripts could not be loaded: when the network changes, a browser breaks off all requests.
// `templates/chat/not_started.html` is for pages that this does not help.

const DELAY = 1000; // until the network is back
const [load] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));

function handleError({ target }) {
  if (target instanceof HTMLScriptElement && load?.type !== "reload") setTimeout(reload, DELAY, target.src);
}

async function reload(script) {
  const response = await fetch(script, { cache: "no-store" }).catch(() => null);
  if (!response?.ok) return; // the browser would show its own page of errors
  const fields = [...document.querySelectorAll("input, textarea")];
  if (fields.some(({ value, defaultValue }) => value !== defaultValue)) return; // what is written would be lost
  location.reload();
}

addEventListener("error", handleError, true); // these errors do not bubble
