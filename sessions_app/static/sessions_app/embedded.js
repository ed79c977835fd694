// Page in a frame of another page: it takes the colours of the page around before anything is drawn.

const NAMES = ["accent", "on-accent", "paper", "card", "sunk", "line", "ink", "soft", "round", "sans", "room"];

if (frameElement) {
  const around = getComputedStyle(frameElement);
  const { style } = document.documentElement;
  for (const name of NAMES) {
    const value = around.getPropertyValue(`--adk-chat-${name}`);
    if (value) style.setProperty(`--${name}`, value);
  }
  style.colorScheme = around.colorScheme === "normal" ? "light" : around.colorScheme;
}
