// Sentences in the language of the page. The English sentences are the keys of a catalogue, `sentences/<language>.js`.

const { lang } = document.documentElement;
const { sentences = {} } = globalThis;
const rules = new Intl.PluralRules(lang);

/** Locale of times and numbers: the person's own one for this language, such as that of a country. */
export const locale = navigator.languages.find((name) => name.split("-")[0] === lang) ?? lang;
const number = new Intl.NumberFormat(locale);

/** Return the sentence in the language of the page, with the values in place of their names in braces. */
export function t(sentence, values) {
  return fill(sentences[sentence] ?? sentence, values);
}

/** Return the form of the sentence for a number, which is the value `count`. */
export function plural(one, other, count, values) {
  const forms = sentences[one] ?? { one, other };
  return fill(forms[rules.select(count)] ?? forms.other, { count: number.format(count), ...values });
}

function fill(sentence, values = {}) {
  return sentence.replace(/{(\w+)}/g, (whole, name) => values[name] ?? whole);
}
