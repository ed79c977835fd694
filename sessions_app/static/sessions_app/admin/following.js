// The button with which staff follow a page, and the requests of a followed page. A refusal ends the following.

const button = () => document.querySelector("[data-follow], [data-live]");
const status = () => document.querySelector("[data-followed]");

/** True while the button is pressed and the page is visible. */
export function isFollowing() {
  return !button().hidden && button().getAttribute("aria-pressed") === "true" && !document.hidden;
}

/** True while something in the part is pressed: a link or button that is replaced then gets no click. */
export function isPressed(part) {
  return part?.matches(":active") ?? false;
}

export function toggle() {
  button().setAttribute("aria-pressed", String(button().getAttribute("aria-pressed") === "false"));
  status().textContent = "";
}

/** Return the server's response; null for an error, after which the next tick tries again, and for a refusal. */
export async function ask(address) {
  const response = await fetch(address, { redirect: "manual" });
  // Signed-out staff are sent to the sign-in page; 404 answers for rows outside of the remits.
  if (response.type === "opaqueredirect" || response.status === 403 || response.status === 404) {
    button().setAttribute("aria-pressed", "false");
    status().textContent = status().dataset.refused;
  }
  return response.ok ? response : null;
}
