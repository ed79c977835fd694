// Tokens and cost of an answer, for the people who may know them.

import { list, locale, plural, t } from "./language.js";

const cost = new Intl.NumberFormat(locale, { maximumSignificantDigits: 2 });

/** Show in the bar under an answer what the articles of its invocation have used together. */
export function show(articles, bar) {
  const sum = (name) => articles.reduce((total, { dataset }) => total + Number(dataset[name] ?? 0), 0);
  const [tokens, price] = [sum("tokens"), sum("cost")];
  const words = [tokens && plural("{count} token", "{count} tokens", tokens), price && t("cost {price}", { price: cost.format(price) })];
  bar.querySelector(".cost").textContent = list(words);
}
