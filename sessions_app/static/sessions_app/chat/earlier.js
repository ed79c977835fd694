// Loading of older events when the user scrolls to the top or presses the button.

import { embeddedInvocations } from "./conversation.js";
import { parse } from "./dom.js";
import { t } from "./language.js";

/**
 * Set up the button; `onLoaded` receives the invocations of each loaded page.
 *
 * Return a function that loads one more page. Its promise resolves to true when a page was loaded.
 */
export function setUpEarlierButton({ button, conversation, scroll, url, onLoaded }) {
  let loading = null;
  const load = () => (loading ??= loadPage().finally(() => (loading = null)));

  async function loadPage() {
    if (button.hidden) return false;
    button.textContent = t("Loading…");
    try {
      const first = conversation.log.querySelector(".log-page").dataset.firstSeq;
      const response = await fetch(`${url}?before=${first}`);
      if (!response.ok) throw new Error(`${response.status}`);
      show(parse(await response.text()));
      button.textContent = t("Show earlier messages");
      return true;
    } catch {
      button.textContent = t("Could not load earlier messages. Try again");
      return false;
    }
  }

  function show(fragment) {
    const invocations = embeddedInvocations(fragment);
    const hasMore = fragment.querySelector(".log-page").dataset.hasMore === "true";
    scroll.keepPlace(conversation.log.querySelectorAll("article"), () => {
      conversation.prepend(fragment);
      button.hidden = !hasMore;
      onLoaded(invocations);
    });
    // Observing again reports immediately if the button is still in view.
    observer.unobserve(button);
    observer.observe(button);
  }

  button.addEventListener("click", load);
  const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && load(), {
    rootMargin: "300px 0px 0px",
  });
  observer.observe(button);
  return load;
}
