// Theme of the page: it changes as soon as it is chosen. A language or a time zone needs a new page, so these choices have a button.

const root = document.documentElement;

for (const form of document.querySelectorAll("form.preferences")) {
  const { theme, language, time_zone: zone } = form.elements;
  if (!language && !zone) form.querySelector("[type=submit]").hidden = true;
  theme.addEventListener("change", () => choose(form, theme.value));
  // Chosen before this script began.
  if (theme.value !== root.dataset.theme) choose(form, theme.value);
}

function choose(form, theme) {
  root.dataset.theme = theme;
  document.querySelector("meta[name=color-scheme]").content = theme === "system" ? "light dark" : theme;
  keep(form, theme).catch(sayNotKept);
}

// The answer is a redirect to this page.
function keep(form, theme) {
  const { csrfmiddlewaretoken, next } = form.elements;
  const fields = { csrfmiddlewaretoken: csrfmiddlewaretoken.value, next: next.value, theme };
  return fetch(form.action, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" });
}

async function sayNotKept() {
  const [{ showToast }, { t }] = await Promise.all([import("./toast.js"), import("./language.js")]);
  showToast(t("There is no connection. Try again."));
}
