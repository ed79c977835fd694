// Colours of code, one block after the other. A block that takes too long keeps its plain text.

import { parse } from "./dom.js";
import { loadStyles } from "./styles.js";

await loadStyles("onDemand");

const MAX_LENGTH = 50_000;
const MAX_MILLISECONDS = 2000;
const MAX_KEPT = 50;
const coloured = new Map(); // promises of HTML: the complete answer shows again what was streamed
let worker = null; // promise of the worker
let previous = Promise.resolve();

/** Colour the text of an element, which stays the same. */
export async function highlight(code, language) {
  const text = code.textContent;
  if (text.length > MAX_LENGTH) return;
  const key = `${language} ${text}`;
  if (!coloured.has(key)) {
    previous = previous.then(() => colour(text, language)).catch((error) => {
      console.warn("Code stays without colours:", error);
      coloured.delete(key); // the next block with this text tries again
    });
    coloured.set(key, previous);
    if (coloured.size > MAX_KEPT) coloured.delete(coloured.keys().next().value);
  }
  const parts = parse((await coloured.get(key)) ?? "");
  if (parts.textContent === text) code.replaceChildren(parts);
}

// Return HTML of the worker; null for an unknown language, and for code that takes too long. Rejects without a worker.
async function colour(text, language) {
  const started = await (worker ??= startWorker());
  return new Promise((resolve) => {
    const end = (html) => {
      clearTimeout(timer);
      resolve(html);
    };
    const giveUp = () => {
      started.terminate();
      worker = null;
      end(null);
    };
    const timer = setTimeout(giveUp, MAX_MILLISECONDS);
    started.onmessage = ({ data }) => end(data);
    started.onerror = giveUp;
    started.postMessage({ text, language });
  });
}

// The worker's first message tells that it is loaded, however long that takes.
function startWorker() {
  const loaded = new Promise((resolve, reject) => {
    const started = new Worker(document.documentElement.dataset.highlighter, { type: "module" });
    started.onmessage = () => resolve(started);
    started.onerror = () => reject(new Error("The worker could not be loaded."));
  });
  loaded.catch(() => (worker = null));
  return loaded;
}
