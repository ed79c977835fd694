// Chat page: create the parts and dispatch each frame to them.

import { Actions } from "./actions.js";
import { refreshActivity, setUpActivity } from "./activity.js";
import { showEnd } from "./calls.js";
import { Chats } from "./chats.js";
import { Composer } from "./composer.js";
import { enableConfirmations, listenForConfirmations } from "./confirmations.js";
import { Conversation, embeddedInvocations } from "./conversation.js";
import { setUpFiles } from "./files.js";
import { hasEnded, Invocations } from "./invocations.js";
import { t } from "./language.js";
import { Outbox } from "./outbox.js";
import { Scroll } from "./scroll.js";
import { ChatSocket } from "./socket.js";
import { ChatStorage, forgetOnSignOut, freezeStorage } from "./storage.js";
import { showElapsed, showLocalTimes } from "./times.js";
import { listenForFiles, Uploads } from "./uploads.js";

const byId = (id) => document.getElementById(id);
const main = byId("main");
const { session, socket: socketPath, events: eventsUrl } = main.dataset;
const storage = new ChatStorage(main.dataset, localStorage);
const editStorage = new ChatStorage(main.dataset, sessionStorage);
const newChat = "new" in main.dataset ? new (await import("./new_chat.js")).NewChat(main.dataset, { onBegin: handleBegin }) : null;
const takeFocus = () => composer.takeFocus(conversation.log);
const tell = (sentence) => (byId("asked").textContent = sentence);

const GAP_REQUEST_INTERVAL = 1000;
const JOBS = ".job-place";
const ACTIVE_JOBS = '.job:is([data-status="queued"], [data-status="running"])';
const ANSWERS = "form[data-name], [data-ask-again], .question .fields";
let lastGapRequest = 0;
let lastSeen = 0;
let news = null;
const list = byId("chats"); // null in a frame
const chats = list && new Chats(list, { currentId: session, onTitle: showTitle });
let updatedSinceReady = new Set(); // ids of invocations with a frame since the last "ready" frame
const conversation = new Conversation(main, { onGap: () => onGap(() => socket.reconnect()) });
const scroll = new Scroll(main, { button: byId("newest"), foot: document.querySelector(".foot"), onPress: takeFocus });
const invocations = new Invocations();
const socket = new ChatSocket(socketPath, { after: () => conversation.lastSeq, onFrame, onState });
const act = (type) => (fields) => socket.act(type, fields);
const cancel = (id) => socket.act("cancel", { invocation_id: id });
const outbox = new Outbox(byId("outbox"), storage, {
  deliver: deliverMessage,
  isShown: (invocationId) => conversation.messageOf(invocationId) !== null,
  onCancel: cancel,
  onPress: takeFocus,
});
const uploads = new Uploads(byId("uploads"), { onProblem: showNotice, onStored: () => newChat?.noteUnsent() });
const composer = new Composer(byId("composer"), newChat?.storage ?? storage, {
  files: uploads,
  onSend: (text, files) => send(text, edit?.finish(), files),
  onStop: () => cancel(invocations.current),
});
const actions = new Actions(conversation, { url: eventsUrl, onRegenerate: async (id) => (await loadEdit()).repeat(id), tell, onTrouble: showNotice });

// Modules, loaded when first needed.
let waiting = null;
const loadWaiting = once(async () => {
  const { Waiting } = await import("./waiting.js");
  waiting = new Waiting(byId("working"), { conversation, tell, onLong: offerNotifications });
  showWork();
});
let live = null;
const loadLive = once(async () => {
  const { LiveText } = await import("./live.js");
  live = new LiveText(byId("live"), { onGap: () => onGap(() => socket.hello()) });
});
let outcomes = null;
const earlierOutcomes = []; // shown when the module is loaded
const loadOutcomes = once(async () => {
  const { Outcomes } = await import("./outcomes.js");
  outcomes = new Outcomes(conversation, { onRetry: (id) => socket.act("retry", { invocation_id: id }), onPress: takeFocus });
  earlierOutcomes.forEach((outcome) => outcomes.show(outcome));
});
const loadNews = once(async () => {
  const statuses = new Map(invocations.statuses);
  for (const card of conversation.findAll(".job")) statuses.set(card.id.replace("job-", ""), card.dataset.status);
  const { questions } = conversation;
  const { News } = await import("./news.js");
  const getTitle = () => byId("title").textContent;
  news = new News(statuses, questions, { conversation, person: main.dataset.person, getTitle, onChange: showWindowTitle });
  news.update();
});
const withNews = (note) => loadNews.isStarted && loadNews().then(note);
let offer = null;
const loadJobs = once(async () => {
  const { Jobs } = await import("./jobs.js");
  return new Jobs(conversation, {
    onCancel: (id) => socket.act("cancel_job", { id }),
    onAnswer: act("answer_job"),
  });
});
const loadAnswers = once(async () => {
  const { Answers } = await import("./answers.js");
  return new Answers(conversation, {
    onAnswer: act("respond"),
    onChoose: act("choose"),
    onWithdraw: act("withdraw_allowance"),
  });
});
const updateAnswers = () => conversation.find(ANSWERS) && loadAnswers().then((answers) => answers.update());
const loadSchedules = once(async () => {
  const { Schedules } = await import("./schedules.js");
  return new Schedules(byId("schedules"), { onCancel: (id) => socket.act("cancel_schedule", { id }), takeFocus });
});
let edit = null;
const loadEdit = once(async () => {
  const { Edit } = await import("./edit.js");
  return (edit = new Edit(byId("editing"), { storage: editStorage, conversation, composer, invocations, loadEarlier, onRepeat: send, onTrouble: showNotice }));
});
const loadEarlier = once(async () => {
  const { setUpEarlierButton } = await import("./earlier.js");
  return setUpEarlierButton({ button: byId("earlier"), conversation, scroll, url: eventsUrl, onLoaded: showLoaded });
});
const loadAlternatives = once(async () => {
  const { Alternatives } = await import("./alternatives.js");
  const onSwitch = (seq) => socket.send("switch", { seq });
  return new Alternatives(byId("alternatives"), { conversation, url: eventsUrl, onSwitch, onLoaded: (frames) => showLoaded(frames, false), tell, onTrouble: showNotice });
});

const handlers = {
  ready(frame) {
    enableControls();
    lastSeen = 0;
    updatedSinceReady = new Set();
    chats?.refresh(); // news from before the connection, or from a page out of the browser's cache, may be missing
    const hasEndedMeanwhile = invocations.replaceActive(frame.invocation);
    live?.clear(); // the server sends the streamed text again from its start
    frame.jobs.forEach(showJob);
    if (frame.schedules.length || !byId("schedules").hidden) loadSchedules().then((panel) => panel.replace(frame.schedules));
    outbox.resend();
    if (hasEndedMeanwhile || loadOutcomes.isStarted) readOutcomes(frame.seq); // another tab may retry
  },
  event(frame) {
    if (!conversation.add(frame)) return;
    if (frame.rewound_from) {
      outcomes?.handleRewind();
      edit?.handleRewind();
    }
    if (frame.rewound_from || loadAlternatives.isStarted) loadAlternatives().then((alternatives) => alternatives.handle(frame));
    withLive(() => {
      live.finish(frame.event.id);
      if (frame.event.customMetadata?.adk_resumed) live.adoptLease(frame.event.customMetadata.adk_resumed);
    });
    outbox.reconcile(frame.event.invocationId);
    outcomes?.refresh(frame.event.invocationId);
    completeRows();
    if (byId("state")) import("./state.js").then(({ showStateDelta }) => showStateDelta(byId("state"), frame));
    if (byId(`event-${frame.seq}`)) scroll.offerNewest();
    withNews(() => news.update());
  },
  partial(frame) {
    loadLive();
    withLive(() => live.write(frame));
    scroll.offerNewest();
  },
  invocation(frame) {
    updatedSinceReady.add(frame.id);
    handleInvocation(frame);
  },
  async job(frame) {
    await showJob(frame);
    if (conversation.find(ACTIVE_JOBS)) offerNotifications();
  },
  schedule: (frame) => loadSchedules().then((panel) => panel.update(frame)),
  call({ id, state, seconds }) {
    const card = conversation.find(`.tool[data-call-id="${CSS.escape(id)}"]`);
    if (card && !("longRunning" in card.dataset)) showEnd(card, state, seconds);
  },
  sessions: () => chats?.refresh(),
  error(frame) {
    enableControls();
    if (!outbox.refuse(frame.in_reply_to, frame.message)) showNotice(frame.message);
  },
};

function onFrame(frame) {
  handlers[frame.type]?.(frame);
  if (frame.type === "event" || frame.type === "invocation") newChat?.begin();
  if (!["event", "partial", "pong"].includes(frame.type)) refreshActivity();
  showWork();
  reportSeen();
}

function onState(state) {
  byId("connection").dataset.state = state;
  const words = byId("connection-words").content.querySelector(`[data-state=${state}]`);
  byId("connection").textContent = words.textContent;
  byId("reconnect").hidden = "notice" in words.dataset;
  if (byId("reconnect").hidden) {
    freezeStorage();
    showNotice(words.dataset.notice);
    composer.close();
  }
}

// Enable what waits for a reply of the server: a request may be lost with its connection.
function enableControls() {
  composer.stopButton.disabled = false;
  enableConfirmations(conversation);
  outcomes?.enableRetry();
}

// Return a function that calls `load` until it has succeeded once, and returns its promise.
function once(load) {
  let loaded = null;
  const forget = (error) => {
    loaded = null;
    throw error;
  };
  const get = () => (loaded ??= load().catch(forget));
  return Object.defineProperty(get, "isStarted", { get: () => loaded !== null });
}

// Change the streamed text when its module is loaded; do nothing before a first text is awaited.
function withLive(change) {
  if (live) change();
  else if (loadLive.isStarted) loadLive().then(change).then(showWork);
}

async function showJob(frame) {
  const jobs = await loadJobs();
  jobs.show(frame);
  withNews(() => news.note("job", frame));
  if (!frame.question) return;
  tell(frame.question.text); // screen readers skip the cards, which change often
  scroll.offerNewest();
}

// Request what is missing, but not again for every frame that arrives before the response.
function onGap(request) {
  if (Date.now() - lastGapRequest < GAP_REQUEST_INTERVAL) return;
  lastGapRequest = Date.now();
  request();
}

function handleInvocation(frame) {
  const text = frame.text ?? outbox.textOf(frame.client_id);
  invocations.update(frame);
  outbox.acknowledge(frame);
  showOutcome({ ...frame, text });
  if (hasEnded(frame.status)) withLive(() => live.drop(frame.id));
  withNews(() => news.note("invocation", frame));
}

// Invocations without an outcome count as well: only the last one can be retried.
function showOutcome(frame) {
  if (outcomes) return outcomes.show(frame);
  earlierOutcomes.push(frame);
  if (frame.status === "failed" || frame.status === "cancelled") loadOutcomes();
}

// Show the outcomes of invocations that ended while the page was disconnected.
async function readOutcomes(seq) {
  const updated = updatedSinceReady;
  const { readInvocations } = await import("./missed_outcomes.js");
  const frames = await readInvocations(eventsUrl, seq, updated);
  if (updated === updatedSinceReady) frames.forEach(handleInvocation);
}

function send(text, replaces, files) {
  showNotice("");
  outbox.send(text, replaces, files);
  scroll.toEnd();
}

// Show the parts of rows that only this page has: actions, jobs and forms.
function completeRows() {
  actions.update();
  if (conversation.find(JOBS)) loadJobs().then((jobs) => jobs.showPending());
  updateAnswers();
}

// Handle events that were loaded by HTTP, with their invocations.
function showLoaded(frames, isEarlier = true) {
  frames.forEach((frame) => showOutcome({ ...frame, isEarlier }));
  completeRows();
  if (!byId("earlier").hidden) loadEarlier();
  if (loadAlternatives.isStarted) loadAlternatives().then((alternatives) => alternatives.place());
}

function deliverMessage(message) {
  newChat?.noteUnsent();
  return socket.isReady && socket.send("message", message);
}

function showWork() {
  const isRunning = invocations.current !== null;
  composer.running = invocations.current;
  main.toggleAttribute("data-busy", isRunning);
  if (waiting) waiting.update(invocations.currentWithStatus, { isWriting: Boolean(live && !live.isEmpty) });
  else if (isRunning) loadWaiting();
  if (isRunning) loadLive();
  else if (offer && !conversation.find(ACTIVE_JOBS)) offer.withdraw();
}

async function offerNotifications() {
  offer = await import("./notification_offer.js");
  offer.offer(main.dataset.person, byId("notice"), { onPress: takeFocus });
}

function handleBegin() {
  socket.url.search = "";
  composer.moveDraft(storage);
  byId("files").hidden = false;
  chats?.refresh(0);
}

// Tell the server how much the person has seen: other tabs do not show it as unread.
function reportSeen() {
  if (document.hidden || !socket.isReady || invocations.current || conversation.lastSeq <= lastSeen) return;
  if (socket.send("seen", { seq: conversation.lastSeq })) lastSeen = conversation.lastSeq;
}

function showTitle(title) {
  byId("title").textContent = title;
  showWindowTitle();
}

function showWindowTitle() {
  document.title = [news?.words, byId("title").textContent, main.dataset.site].filter(Boolean).join(" · ").replace(/[\u202a-\u202e\u2066-\u2069]/g, "");
}

function showNotice(text) {
  byId("notice").firstElementChild.textContent = text;
  byId("notice").hidden = !text;
}

embeddedInvocations(conversation.log).forEach(handleInvocation);
listenForConfirmations(conversation.log, act("confirm"));
updateAnswers();
if (!byId("earlier").hidden) loadEarlier();
if ("rewound" in byId("alternatives").dataset) loadAlternatives();
// A form may be submitted before its module has loaded.
conversation.log.addEventListener("submit", async ({ target, submitter }) => {
  const load = "job" in target.dataset ? loadJobs : "callId" in target.dataset ? loadAnswers : null;
  const handler = await load?.();
  if (!submitter.disabled) handler?.submit(target, submitter);
});
conversation.log.addEventListener("click", async ({ target }) => {
  const button = target.closest("button");
  if (!button) return;
  if ("edit" in button.dataset) (await loadEdit()).start(button.closest("article"));
  if ("cancelJob" in button.dataset) (await loadJobs()).cancel(button);
  if ("askAgain" in button.dataset) (await loadAnswers()).withdraw(button);
});
// Loaded before its button is pressed: what is typed next belongs to the edit.
for (const type of ["pointerover", "focusin"]) conversation.log.addEventListener(type, loadEdit, { once: true });
if (editStorage.names("edit").length) loadEdit(); // an edit goes on after a reload
if (conversation.find(JOBS)) loadJobs();
forgetOnSignOut();
byId("notice").lastElementChild.addEventListener("click", () => {
  showNotice("");
  takeFocus();
});
byId("reconnect").addEventListener("click", () => {
  socket.retry();
  takeFocus();
});
listenForFiles(uploads, { button: byId("attach"), input: byId("attach-input"), field: composer.field, offer: byId("offer") });
if (chats) {
  setUpActivity(byId("activity"));
  import("./shortcuts.js");
}
setUpFiles(main, byId("files"), byId("uploads").dataset.url);
byId("hello").addEventListener("click", (event) => {
  const starter = event.target.closest(".starter");
  if (starter) send(starter.textContent, undefined, []);
});
for (const type of ["visibilitychange", "load"]) addEventListener(type, () => (document.hidden ? loadNews() : reportSeen()));
// Tell the person why a button does nothing: its module cannot be loaded.
addEventListener("unhandledrejection", ({ reason }) => {
  if (navigator.userActivation.isActive && /module/.test(reason)) showNotice(t("There is no connection. Try again."));
});
setInterval(() => showElapsed(document), 1000);
addEventListener("visibilitychange", () => conversation.chunks.roots.forEach(showLocalTimes)); // of another day
showElapsed(document);
showWork();
scroll.toEnd();
if (!newChat?.returnToUnsent()) socket.start();

export { conversation, loadEarlier, scroll };
