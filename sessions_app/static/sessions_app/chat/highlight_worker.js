// Worker that colours code. It can be ended, which a regular expression that never returns needs.

import hljs from "../vendor/highlight/highlight.min.js";

addEventListener("message", ({ data: { text, language } }) => {
  postMessage(hljs.getLanguage(language) ? hljs.highlight(text, { language, ignoreIllegals: true }).value : null);
});

postMessage("ready");
