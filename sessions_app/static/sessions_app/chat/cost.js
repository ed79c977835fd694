// Tokens and cost of an answer, for the people who may know them.

const count = new Intl.NumberFormat();
const cost = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 2 });

/** Show in the bar under an answer what the articles of its invocation have used together. */
export function show(articles, bar) {
  const sum = (name) => articles.reduce((total, { dataset }) => total + Number(dataset[name] ?? 0), 0);
  const [tokens, price] = [sum("tokens"), sum("cost")];
  const words = [tokens && `${count.format(tokens)} tokens`, price && `cost ${cost.format(price)}`];
  bar.querySelector(".cost").textContent = words.filter(Boolean).join(", ");
}
