// Offer of notifications: a line above the message with a yes and a no, while something is awaited.

import { make, makeButton } from "./dom.js";
import { t } from "./language.js";
import { choose, isUndecided } from "./notifications.js";
import { loadStyles } from "./styles.js";

let line = null;

/** Offer notifications before `place`, unless the person has chosen or the browser forbids them. */
export async function offer(person, place, { onPress }) {
  if (line || !isUndecided(person)) return;
  const answer = (isWanted) => {
    withdraw();
    onPress();
    return choose(person, isWanted);
  };
  line = make("div", "tell-me");
  line.setAttribute("role", "group");
  line.setAttribute("aria-label", t("Notifications"));
  line.append(
    makeButton("plain", t("Tell me when it is ready"), () => answer(true)),
    makeButton("plain", t("No, thanks"), () => answer(false)),
  );
  await loadStyles("onDemand");
  if (line) place.before(line);
}

/** Remove the offer: nothing is awaited any more. */
export function withdraw() {
  line?.remove();
  line = null;
}
