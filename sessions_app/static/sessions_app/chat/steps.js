// Cards with the steps of workflows. The server renders them; they are read again when a workflow has gone on.

import { make } from "./dom.js";
import { readPart } from "./requests.js";
import { loadStyles } from "./styles.js";
import { showElapsed, showLocalTimes } from "./times.js";

const DELAY = 200; // events of parallel nodes come together
const OPEN = '[data-state="running"], [data-state="retrying"], [data-state="waiting"], [data-state="background"]';
const narrow = matchMedia("(max-width: 40rem)");

await loadStyles("stepsStyles");

export class Steps {
  #shown = new Map(); // what the card of an invocation was read for
  #reading = new Set();
  #timer = 0;

  constructor(conversation, url) {
    this.conversation = conversation;
    this.url = url;
  }

  /** Show the steps anew of each workflow that has gone on, soon. Call this when anything has happened in the chat. */
  update() {
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      this.#update();
    }, DELAY);
  }

  #update() {
    const last = new Map(
      this.conversation.findAll("article[data-node]").map(({ dataset }) => [dataset.invocation, dataset.seq]),
    );
    for (const place of this.conversation.findAll(".workflow")) if (!last.has(place.dataset.of)) place.remove();
    for (const [id, seq] of last) {
      const isOpen = Boolean(this.#placeOf(id)?.querySelector(`.steps:is(${OPEN})`));
      if (isOpen || this.#shown.get(id) !== seq) this.#read(id, seq);
    }
  }

  async #read(id, seq) {
    if (this.#reading.has(id)) {
      this.update();
      return;
    }
    this.#reading.add(id);
    const cards = await readPart(`${this.url}?invocation=${encodeURIComponent(id)}`).catch(() => null);
    this.#reading.delete(id);
    if (!cards) return; // the next frame tries again
    this.#shown.set(id, seq);
    this.#show(id, cards);
  }

  #placeOf(id) {
    return this.conversation.find(`.workflow[data-of="${CSS.escape(id)}"]`);
  }

  #show(id, cards) {
    const [first] = this.conversation.findAll(`article[data-node][data-invocation="${CSS.escape(id)}"]`);
    if (!first) return;
    let place = this.#placeOf(id);
    if (!place) {
      place = make("div", "workflow");
      place.dataset.of = id;
      place.setAttribute("aria-live", "off"); // the question or the result is announced
    }
    for (const details of cards.querySelectorAll(".steps > details")) {
      if (narrow.matches) details.open = false; // its line names the current step
      details.dataset.opened = String(details.open);
    }
    keepOpened(place, cards);
    showElapsed(cards);
    showLocalTimes(cards);
    const focused = [...place.querySelectorAll("summary")].indexOf(document.activeElement);
    place.replaceChildren(cards);
    if (first.previousElementSibling !== place) first.before(place);
    if (focused >= 0) place.querySelectorAll("summary")[focused]?.focus({ preventScroll: true });
  }
}

// What the person has opened or closed stays so.
function keepOpened(place, cards) {
  const fresh = new Map([...cards.querySelectorAll("details")].map((details) => [nameOf(details), details]));
  for (const details of place.querySelectorAll("details")) {
    const isChanged = String(details.open) !== (details.dataset.opened ?? "false");
    const other = fresh.get(nameOf(details));
    if (isChanged && other) other.open = details.open;
  }
}

function nameOf(details) {
  return details.dataset.name ?? details.parentElement.dataset.path;
}
