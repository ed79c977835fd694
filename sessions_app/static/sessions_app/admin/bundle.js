// Checks a bundle of a case file in the browser, from its page verify.html, which has this script within it. It does the
// same as data_protection/bundles/checking.py: see there, and chains.py for the hashes.

const MANIFEST = "manifest.json";
const MAX_BYTES = 2 ** 30;
const MAX_ZIP_BYTES = 2 ** 31 - 1;
const COMMAND = "manage.py adk_verify --bundle FILE --public-key root.pub";
const HIDING = "The zip has bytes outside of its files: do not unpack it, other programs may find other files there.";
const HIDDEN = /(?!\n)[\p{Cc}\p{Cf}]/gu;
const HOLDS = ["All in this bundle fits together. Compare the number of the seal.", "This bundle holds."];
const encoder = new TextEncoder();

/** More than this page can read. It says nothing about the bundle. */
class TooLarge extends Error {}

/** @param {string} id */
const place = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Shows hidden characters: a text must not look like another one. @param {unknown} text */
const shown = (text) =>
  String(text).replace(
    HIDDEN,
    (char) => `[U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
  );

/** @param {Uint8Array} bytes */
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} text */
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

/** @param {string} text */
const unbase64 = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));

/** @param {(Uint8Array | string)[]} parts */
async function sha256(...parts) {
  const bytes = new Uint8Array(await new Blob(/** @type {BlobPart[]} */ (parts)).arrayBuffer());
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/**
 * Files of a zip by name, each read when it is asked for, and what is odd: in bytes that its list does not name, other
 * programs find other files.
 * @param {File} file
 */
async function filesOfZip(file) {
  if (file.size > MAX_ZIP_BYTES) throw new TooLarge("it is larger than 2 GB");
  const bytes = new Uint8Array(await file.arrayBuffer());
  const view = new DataView(bytes.buffer);
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0) throw new Error("it is no zip file");
  const files = new Map();
  const odd = [];
  const parts = [];
  const directory = view.getUint32(end + 16, true);
  if (directory === 0xffffffff || view.getUint16(end + 10, true) === 0xffff)
    throw new TooLarge("it has more than 65,534 files, or more than 4 GB (ZIP64)");
  let isPlain = end === bytes.length - 22;
  let at = directory;
  for (let left = view.getUint16(end + 10, true); left > 0; left -= 1) {
    if (view.getUint32(at, true) !== 0x02014b50) throw new Error("its list of files is damaged");
    const [method, packed, size] = [
      view.getUint16(at + 10, true),
      view.getUint32(at + 20, true),
      view.getUint32(at + 24, true),
    ];
    const lengths = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + lengths[0]));
    const header = view.getUint32(at + 42, true);
    const ownEnd = header + 30 + view.getUint16(header + 26, true);
    const start = ownEnd + view.getUint16(header + 28, true);
    if (new TextDecoder().decode(bytes.subarray(header + 30, ownEnd)) !== name) isPlain = false;
    parts.push({ from: header, to: start + packed });
    if (files.has(name)) odd.push(`${name} is in the bundle twice.`);
    files.set(name, () => unpacked(name, bytes.subarray(start, start + packed), method, size));
    at += 46 + lengths[0] + lengths[1] + lengths[2];
  }
  if (at !== end) isPlain = false;
  let reached = 0;
  for (const { from, to } of [...parts.sort((one, other) => one.from - other.from), { from: directory, to: end }]) {
    if (from !== reached) isPlain = false;
    reached = to;
  }
  if (!isPlain) odd.push(HIDING);
  return { files, odd };
}

/** @param {string} name @param {Uint8Array} packed @param {number} method @param {number} size */
async function unpacked(name, packed, method, size) {
  if (size > MAX_BYTES) throw new TooLarge(`${name} is larger than 1 GB`);
  if (method === 0) return packed;
  const stream = new Blob([/** @type {BlobPart} */ (packed)])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = new Uint8Array(size);
  let filled = 0;
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (filled + part.value.length > size) throw new Error("a file is larger than the zip says");
    bytes.set(part.value, filled);
    filled += part.value.length;
  }
  return bytes.subarray(0, filled);
}

/** @param {FileList} list */
function filesOfFolder(list) {
  const files = new Map();
  for (const file of list) {
    const name = file.webkitRelativePath.split("/").slice(1).join("/");
    files.set(name, async () => new Uint8Array(await file.arrayBuffer()));
  }
  return { files, odd: [] };
}

/** @param {any} left @param {any} right @returns {boolean} */
function isSame(left, right) {
  if (left === right) return true;
  if (!left || !right || typeof left !== "object" || typeof right !== "object") return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && isSame(left[key], right[key]))
  );
}

class Bundle {
  /** @param {Map<string, () => Promise<Uint8Array>>} files @param {string[]} odd */
  constructor(files, odd) {
    this.files = files;
    this.odd = odd;
    /** @type {{holds: boolean, words: string, isOpen?: boolean}[]} */
    this.findings = [];
    this.number = "";
    /** @type {any} */
    this.case = null;
    /** @type {CryptoKey | null} */
    this.key = null;
  }

  /** @param {boolean} holds @param {string} words */
  found(holds, words) {
    this.findings.push({ holds, words });
  }

  /** What this page cannot prove by itself. @param {string} words */
  leftOpen(words) {
    this.findings.push({ holds: true, words, isOpen: true });
  }

  /** @param {string} name */
  async read(name) {
    const read = this.files.get(name);
    if (!read) throw new Error(`${name} is missing`);
    return read();
  }

  /** @param {string} name */
  async json(name) {
    return JSON.parse(new TextDecoder().decode(await this.read(name)));
  }

  async check() {
    this.number = hex(await sha256(await this.read(MANIFEST)));
    await this.checkFiles();
    this.case = await this.json("case.json");
    await this.readKey();
    for (const item of this.case.items) {
      if (item.erased_at)
        this.found(true, `Session ${item.session} was erased before the seal: only its number is here.`);
      else if (!this.files.has(`chains/${item.name}.json`))
        this.found(false, `chains/${item.name}.json is missing: nothing proves the item.`);
      else await this.checkItem(item);
    }
  }

  async checkFiles() {
    const listed = new Map((await this.json(MANIFEST)).files.map((/** @type {any} */ file) => [file.name, file]));
    for (const words of this.odd) this.found(false, words);
    const names = new Set([...this.files.keys(), ...listed.keys()].sort());
    names.delete(MANIFEST);
    for (const name of names) {
      const entry = listed.get(name);
      if (name.startsWith("/") || name.includes("\\") || name.split("/").includes(".."))
        this.found(false, `“${name}” is no name of a file in a bundle: do not unpack it.`);
      else if (!entry) this.found(false, `“${name}” was added: the manifest does not name it.`);
      else if (!this.files.has(name)) this.found(false, `${name} is missing.`);
      else if ((await this.digestOf(name)) !== entry.sha256)
        this.found(false, `${name} was changed: its SHA-256 is not that in the manifest.`);
    }
    if (this.findings.length === 0) this.found(true, `All ${listed.size} files are those that the manifest names.`);
  }

  /** The SHA-256 of a file; empty if it cannot be unpacked. @param {string} name */
  async digestOf(name) {
    try {
      return hex(await sha256(await this.read(name)));
    } catch (error) {
      if (error instanceof TooLarge) throw error;
      return "";
    }
  }

  async readKey() {
    if (!this.case.public_key) return;
    const der = unbase64(this.case.public_key);
    try {
      this.key = await crypto.subtle.importKey("spki", der, { name: "Ed25519" }, false, ["verify"]);
      this.leftOpen(
        `The SHA-256 of the key of the roots is ${hex(await sha256(der))}: compare it with that of the site's public key ` +
          "(openssl pkey -pubin -in root.pub -outform DER | sha256sum).",
      );
    } catch {
      this.found(false, `This browser cannot check signatures (Ed25519). Use another one, or ${COMMAND}`);
    }
  }

  /** @param {any} item */
  async checkItem(item) {
    const chain = await this.json(`chains/${item.name}.json`);
    let name = `Session ${item.session}`;
    let first = 1;
    let exported;
    if (item.seq) {
      name = `Event ${item.seq} of session ${item.session}`;
      first = item.seq;
      exported = [await this.json(`events/${item.name}.json`)];
    } else exported = (await this.json(`sessions/${item.name}.json`)).events;
    let bad = await firstFlaw(chain, first, item.seq ? 1 : item.events, exported);
    if (chain.session !== item.session) bad = "the chain is that of another session.";
    if (bad) this.found(false, `${name}: ${bad}`);
    else this.found(true, `${name}: ${holding(item, chain.events)}`);
    await this.checkProof(name, chain);
  }

  /** @param {string} name @param {any} chain */
  async checkProof(name, chain) {
    const proof = chain.proof;
    if (!proof) {
      this.leftOpen(`${name}: no signed root covers it yet, so only the site vouches for its hashes.`);
      return;
    }
    const root = JSON.parse(proof.head);
    const seq = Number(proof.row.split(" ")[2]);
    const event = chain.events.find((/** @type {any} */ one) => one.seq === seq);
    const row = `event ${chain.session} ${seq} ${event?.hash}`;
    if (proof.row !== row || (await treeAbove(row, proof.path)) !== root.tree) {
      this.found(false, `${name}: event ${seq} is not the one that the signed root ${root.number} has.`);
      return;
    }
    const words = `${name}: event ${seq} and all before it were so at ${root.at}, by the signed root ${root.number}.`;
    if (!this.key) this.leftOpen(`${words} Its signature was not checked.`);
    else if (
      await crypto.subtle.verify({ name: "Ed25519" }, this.key, unbase64(proof.signature), encoder.encode(proof.head))
    )
      this.found(true, `${words} Its signature is that of the key.`);
    else this.found(false, `${name}: root ${root.number} does not have the signature of this key.`);
  }
}

/** @param {any} item @param {any[]} events */
function holding(item, events) {
  const masked = events.filter((event) => event.body === undefined).length;
  let words = `${events.length} events follow from each other, and the export has the same events.`;
  if (item.seq) words = "the export has the event that was hashed.";
  return masked ? `${words} Masked events whose hashes only the site can compute: ${masked}.` : words;
}

/** What is wrong with the first bad event; empty if nothing is. @param {any} chain @param {number} first @param {number} count @param {any[]} exported */
async function firstFlaw(chain, first, count, exported) {
  let previous = chain.previous || (await beginning(chain));
  if (!previous) return "its beginning (app, owner and first state) was altered.";
  for (const [index, event] of chain.events.entries()) {
    if (index >= count || event.seq !== first + index) return `event ${first + Math.min(index, count - 1)} is missing.`;
    if (event.body !== undefined) {
      if (previous.length !== 66) previous = chain.link;
      const text = `${event.seq} ${event.body}${event.before}${event.facts}`;
      if (event.hash !== `02${hex(await sha256(unhex(previous), text))}`) return `event ${event.seq} was altered.`;
      if (!isSame(exported[index], JSON.parse(event.body)))
        return `event ${event.seq} of the export was altered: the chain has another one.`;
    }
    previous = event.hash;
  }
  if (chain.events.length < count) return `event ${first + chain.events.length} is missing.`;
  return exported.length === count ? "" : "the export has another number of events than the chain.";
}

/** The hash before the first event; empty if it was altered. @param {any} chain */
async function beginning(chain) {
  const old = chain.events.filter((/** @type {any} */ event) => event.hash.length === 64).at(-1)?.hash ?? "";
  if (chain.begin !== null && hex(await sha256(unhex(old), chain.begin)) !== chain.link) return "";
  return chain.link;
}

/** @param {string} line @param {string[]} path */
async function treeAbove(line, path) {
  let hashed = await sha256("\0", line);
  for (const step of path) {
    const neighbour = unhex(step.slice(1));
    hashed = await (step[0] === "L" ? sha256("\x01", neighbour, hashed) : sha256("\x01", hashed, neighbour));
  }
  return hex(hashed);
}

/** @param {string} id @param {{words: string, className?: string, quote?: string}[]} lines */
function fill(id, lines) {
  place(id).replaceChildren(
    ...lines.map(({ words, className, quote }) => {
      const line = document.createElement("li");
      line.className = className ?? "";
      line.append(Object.assign(document.createElement("bdi"), { textContent: shown(words) }));
      if (quote)
        line.append(Object.assign(document.createElement("blockquote"), { textContent: shown(quote), dir: "auto" }));
      return line;
    }),
  );
}

/** @param {Bundle} bundle */
function show(bundle) {
  const expected = /** @type {HTMLInputElement} */ (place("number")).value.trim().toLowerCase();
  const number = {
    holds: true,
    isOpen: !expected,
    words: `The number of the seal is ${bundle.number}: compare it with the one that the site has recorded.`,
  };
  if (expected && expected === bundle.number)
    number.words = `The number of the seal is the one that you gave: ${bundle.number}`;
  else if (expected) {
    number.holds = false;
    number.words = `The number of the seal is ${bundle.number}, and not the one that you gave.`;
  }
  const findings = [number, ...bundle.findings];
  const bad = findings.filter((finding) => !finding.holds);
  const verdict = place("verdict");
  verdict.textContent = bad.length
    ? `This bundle does not hold: ${shown(bad[0].words)}`
    : HOLDS[Number(expected !== "")];
  verdict.className = bad.length ? "bad" : "good";
  fill(
    "findings",
    findings.map(({ holds, words, isOpen }) => ({ words, className: isOpen ? "open" : holds ? "good" : "bad" })),
  );
  place("content").hidden = !bundle.case;
  if (!bundle.case) return;
  const { title, site, made_by, made_at, sealed_at, items, entries } = bundle.case;
  place("title").textContent = shown(title);
  place("made").textContent = shown(`${site}: made by ${made_by} on ${made_at}, sealed on ${sealed_at}`);
  fill(
    "items",
    items.map((/** @type {any} */ item) => ({ words: itemWords(item) })),
  );
  fill(
    "entries",
    entries.map((/** @type {any} */ entry) => ({
      words: `${entry.kind}, ${entry.by}, ${entry.at}`,
      quote: entry.text,
    })),
  );
}

/** @param {any} item */
function itemWords(item) {
  if (item.erased_at) return `${item.session}, erased on ${item.erased_at}`;
  const part = item.seq ? `, event ${item.seq}` : "";
  return `${item.title || item.session}${part}, ${item.app}, ${item.user}: records/${item.name}.html`;
}

/** @type {Bundle | null} */
let current = null;

/** @param {() => Promise<{files: Map<string, () => Promise<Uint8Array>>, odd: string[]}> | {files: Map<string, () => Promise<Uint8Array>>, odd: string[]}} open */
async function start(open) {
  place("verdict").className = "";
  place("verdict").textContent = "Computing…";
  fill("findings", []);
  place("content").hidden = true;
  current = null;
  try {
    if (!globalThis.crypto?.subtle) throw new Error(`this browser cannot compute hashes here: use ${COMMAND}`);
    const { files, odd } = await open();
    const bundle = new Bundle(files, odd);
    await bundle.check();
    current = bundle;
    show(bundle);
  } catch (error) {
    place("verdict").className = "bad";
    const message = shown(error instanceof Error ? error.message : error);
    if (error instanceof TooLarge)
      place("verdict").textContent = `This page cannot check the bundle, because ${message}. Use ${COMMAND}`;
    else place("verdict").textContent = `This is no whole bundle: ${message}.`;
  }
}

const bundle = /** @type {HTMLInputElement} */ (place("bundle"));
const folder = /** @type {HTMLInputElement} */ (place("folder"));
bundle.addEventListener("change", () => {
  const file = bundle.files?.[0];
  if (file) start(() => filesOfZip(file));
});
folder.addEventListener("change", () => start(() => filesOfFolder(/** @type {FileList} */ (folder.files))));
place("number").addEventListener("input", () => current && show(current));
