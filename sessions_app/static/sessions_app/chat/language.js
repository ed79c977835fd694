// Sentences in the page's language; the English ones are the keys of the catalogue, `sentences/<language>.js`.

const { lang } = document.documentElement;
const { sentences = {} } = globalThis;
const rules = new Intl.PluralRules(lang);

/** Locale of times and numbers: the language of the page in the person's country. */
export const locale = navigator.languages.find((name) => name.split("-")[0] === lang) ?? lang;
const number = new Intl.NumberFormat(locale);

/** Return the sentence, with the values in place of their names in braces. */
export function t(sentence, values) {
  return fill(sentences[sentence] ?? sentence, values);
}

/** Return the sentence for the number `{count}`. */
export function plural(one, other, count, values) {
  const forms = sentences[one] ?? { one, other };
  return fill(forms[rules.select(count)] ?? forms.other, { count: number.format(count), ...values });
}

/** Join the words, without empty ones. */
export const list = (words) => words.filter(Boolean).join(t(", "));

function fill(sentence, values) {
  return sentence.replace(/{(\w+)}/g, (_, name) => values[name]);
}
