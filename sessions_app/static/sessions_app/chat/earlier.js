// Loads older events when the person reaches the top, or asks.

import { toldInvocations } from "./conversation.js";
import { parse } from "./dom.js";

/** Sets up the button; `onLoaded` is called with the invocations of what was loaded. */
export function loadEarlier({ button, conversation, scroll, url, onLoaded }) {
  let isLoading = false;

  async function load() {
    if (isLoading || button.hidden) return;
    isLoading = true;
    button.textContent = "Loading…";
    try {
      const first = conversation.log.querySelector(".log-page").dataset.firstSeq;
      const response = await fetch(`${url}?before=${first}`);
      if (!response.ok) throw new Error(`${response.status}`);
      show(parse(await response.text()));
      button.textContent = "Show earlier messages";
    } catch {
      button.textContent = "Earlier messages did not load. Try again";
    } finally {
      isLoading = false;
    }
  }

  function show(fragment) {
    const anchor = conversation.log.querySelector("article:not([hidden])") ?? conversation.log;
    const invocations = toldInvocations(fragment);
    const hasMore = fragment.querySelector(".log-page").dataset.hasMore === "true";
    scroll.keepPlace(anchor, () => {
      conversation.addEarlier(fragment);
      button.hidden = !hasMore;
      onLoaded(invocations);
    });
    // Observing anew tells at once whether the button is still in view.
    watcher.unobserve(button);
    watcher.observe(button);
  }

  button.addEventListener("click", load);
  const watcher = new IntersectionObserver((seen) => seen.some((entry) => entry.isIntersecting) && load(), {
    rootMargin: "300px 0px 0px",
  });
  watcher.observe(button);
}
