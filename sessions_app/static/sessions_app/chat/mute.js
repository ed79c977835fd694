// Silence of the log for screen readers, while rows come in that are no news.

let timer = 0;

/** Keep screen readers from announcing rows that are no news, for a second. */
export function mute(log) {
  log.setAttribute("aria-live", "off");
  clearTimeout(timer);
  timer = setTimeout(() => log.removeAttribute("aria-live"), 1000);
}
