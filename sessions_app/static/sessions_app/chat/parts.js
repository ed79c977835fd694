// Parts of the page that are loaded when a person first needs them.

import { t } from "./language.js";

/** A part could not be loaded. The message is a sentence for the person. */
class MissingPartError extends Error {}

/** Load a part by a function that imports it. When that fails the page says so: see `showMissingParts`. */
export async function load(importPart) {
  try {
    return await importPart();
  } catch (cause) {
    throw new MissingPartError(t("A part of this page could not be loaded. Try again, or reload the page."), { cause });
  }
}

/** Return a function that calls `make` once for all its calls. When that fails the next call tries again. */
export function loadOnce(make) {
  let made = null;
  return () => {
    made ??= make().catch((error) => {
      made = null;
      throw error;
    });
    return made;
  };
}

/** Call `show` with a sentence when a part that a person needs could not be loaded, and nobody else handles this. */
export function showMissingParts(show) {
  addEventListener("unhandledrejection", ({ reason }) => {
    if (reason instanceof MissingPartError) show(reason.message);
  });
}
