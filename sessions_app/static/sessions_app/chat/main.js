// Chat page: create the parts, connect them, and dispatch each frame to them.

import { Actions } from "./actions.js";
import { Activity } from "./activity.js";
import { Answers, listenForAnswers } from "./answers.js";
import { showEnd } from "./calls.js";
import { Chats } from "./chats.js";
import { Composer } from "./composer.js";
import { enableConfirmations, listenForConfirmations } from "./confirmations.js";
import { Conversation } from "./conversation.js";
import { EarlierPages } from "./earlier.js";
import { Files } from "./files.js";
import { hasEnded, Invocations } from "./invocations.js";
import { Jobs } from "./jobs.js";
import { LiveText } from "./live.js";
import { embeddedInvocations, readLogPage } from "./log_pages.js";
import { NewChat } from "./new_chat.js";
import { News } from "./news.js";
import { Notifications } from "./notifications.js";
import { Outbox } from "./outbox.js";
import { Outcomes } from "./outcomes.js";
import { load, loadOnce, showMissingParts } from "./parts.js";
import { Picker } from "./picker.js";
import { toggleSaid } from "./said.js";
import { Schedules } from "./schedules.js";
import { Scroll } from "./scroll.js";
import { setUpShortcuts } from "./shortcuts.js";
import { ChatSocket } from "./socket.js";
import { showStateDelta } from "./state.js";
import { ChatStorage, forgetOnSignOut } from "./storage.js";
import { showElapsed, showLocalTimes } from "./times.js";
import { listenForFiles, Uploads } from "./uploads.js";
import { Waiting } from "./waiting.js";

const GAP_REQUEST_INTERVAL = 1000;
const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;
const byId = (id) => document.getElementById(id);

class ChatPage {
  #lastGapRequest = 0;
  // seq that the server knows this page to have shown
  #lastSeen = 0;
  // ids of invocations with a frame since the last "ready" frame
  #updatedSinceReady = new Set();
  // invocations that ended while the page was disconnected, with the last seq of then
  #ended = { seq: 0, ids: [] };
  #hasAlternatives = false;

  constructor(main) {
    const { session, socket: path, events: url, person } = main.dataset;
    const announce = (sentence) => this.announce(sentence);
    const onProblem = (sentence) => this.showNotice(sentence);
    const onPress = () => this.takeFocus();
    const cancel = (id) => this.socket.sendOrQueue("cancel", { invocation_id: id });
    const sender = (type) => (fields) => this.socket.sendOrQueue(type, fields);
    const storage = new ChatStorage(main.dataset, localStorage);

    this.main = main;
    this.url = url;
    this.newChat =
      "new" in main.dataset ? new NewChat(main.dataset, { onBegin: () => this.#handleBegin(storage) }) : null;
    this.conversation = new Conversation(main, { onGap: () => this.#fillGap(() => this.socket.reconnect()) });
    this.invocations = new Invocations();
    this.editStorage = new ChatStorage(main.dataset, sessionStorage);
    const foot = document.querySelector(".foot");
    this.scroll = new Scroll(main, { button: byId("newest"), foot, isNew: this.newChat !== null, onPress });
    this.socket = new ChatSocket(path, {
      after: () => this.conversation.lastSeq,
      onFrame: (frame) => this.#handleFrame(frame),
      onState: (state) => this.#showConnection(state),
    });
    this.picker = new Picker(byId("picker"), { person, draft: () => (this.newChat ? byId("message").value : "") });
    this.outbox = new Outbox(byId("outbox"), storage, {
      deliver: (message) => this.#deliver(message),
      isShown: (invocationId) => this.conversation.messageOf(invocationId) !== null,
      onCancel: cancel,
      onPress,
    });
    this.uploads = new Uploads(byId("uploads"), { onProblem, onStored: () => this.newChat?.noteUnsent() });
    this.composer = new Composer(byId("composer"), this.newChat?.storage ?? storage, {
      files: this.uploads,
      onSend: (text, files) => this.#sendWritten(text, files),
      onStop: () => cancel(this.invocations.current),
      onProblem,
    });
    this.actions = new Actions(this.conversation, {
      url,
      onRegenerate: async (id) => (await this.loadEdit()).repeat(id),
      onContinue: (text) => {
        this.#send(text, undefined, []);
        this.takeFocus();
      },
      announce,
      onProblem,
    });
    this.answers = new Answers(this.conversation, {
      onAnswer: sender("respond"),
      onChoose: sender("choose"),
      onWithdraw: sender("withdraw_allowance"),
    });
    this.jobs = new Jobs(this.conversation, {
      onCancel: (id) => this.socket.sendOrQueue("cancel_job", { id }),
      onAnswer: sender("answer_job"),
    });
    this.schedules = new Schedules(byId("schedules"), {
      onCancel: (id) => this.socket.sendOrQueue("cancel_schedule", { id }),
      takeFocus: onPress,
    });
    this.outcomes = new Outcomes(this.conversation, {
      onRetry: (id) => this.socket.sendOrQueue("retry", { invocation_id: id }),
      onPress,
    });
    this.earlier = new EarlierPages(byId("earlier"), {
      conversation: this.conversation,
      scroll: this.scroll,
      url,
      onLoaded: (frames) => this.#showLoaded(frames, { isEarlier: true }),
    });
    this.live = new LiveText(byId("live"), { onGap: () => this.#fillGap(() => this.socket.hello()) });
    this.notifications = new Notifications(person, byId("notice"), { onPress });
    this.waiting = new Waiting(byId("working"), {
      conversation: this.conversation,
      announce,
      withdraw: (sentence) => this.withdraw(sentence),
      onLong: () => this.notifications.offer(),
    });
    this.news = new News(this.jobs.readStatuses(), {
      conversation: this.conversation,
      onNews: (words) => this.notifications.show(words, byId("title").textContent),
      onChange: () => this.#showWindowTitle(),
    });
    listenForConfirmations(this.conversation.log, sender("confirm"));
    listenForFiles(this.uploads, {
      button: byId("attach"),
      input: byId("attach-input"),
      field: this.composer.field,
    });
    new Files(main, { button: byId("files"), url: byId("uploads").dataset.url });
    const list = byId("chats"); // null in a frame of another page
    if (list) {
      this.chats = new Chats(list, { currentId: session, onTitle: (title) => this.#showTitle(title) });
      this.activity = new Activity(byId("activity"));
      setUpShortcuts();
    }
  }

  /** Show what the page was loaded with, listen to the person, and connect. */
  start() {
    for (const frame of embeddedInvocations(this.conversation.log)) this.#handleInvocation(frame);
    this.answers.update();
    if ("rewound" in byId("alternatives").dataset) this.loadAlternatives();
    if (this.editStorage.names("edit").length) this.loadEdit(); // an edit resumes after a reload
    this.#listen();
    this.#showSteps();
    this.news.update();
    showElapsed(document);
    setInterval(() => showElapsed(document), 1000);
    this.#showWork();
    if (!this.newChat?.returnToUnsent()) this.socket.start();
  }

  /** Announce a sentence to screen readers. */
  announce(sentence) {
    byId("asked").textContent = sentence;
  }

  /** Take back an announcement that is out of date; one that was made since then stays. */
  withdraw(sentence) {
    if (byId("asked").textContent === sentence) this.announce("");
  }

  /** Show a sentence about a problem above the composer; an empty one hides it. */
  showNotice(text) {
    byId("notice").firstElementChild.textContent = text;
    byId("notice").hidden = !text;
  }

  /** Take the focus of a control that disappears. */
  takeFocus() {
    this.composer.takeFocus(this.conversation.log);
  }

  /** Load the part that edits messages; most chats do without. */
  loadEdit = loadOnce(async () => {
    const { Edit } = await load(() => import("./edit.js"));
    const { conversation, composer, invocations, earlier } = this;
    this.edit = new Edit(byId("editing"), {
      storage: this.editStorage,
      conversation,
      composer,
      invocations,
      earlier,
      onRepeat: (text, replaces, files) => this.#send(text, replaces, files),
      onProblem: (sentence) => this.showNotice(sentence),
    });
    return this.edit;
  });

  /** Load the part that writes what a person says; most people type. */
  loadDictation = loadOnce(async () => {
    const { Dictation } = await load(() => import("./dictation.js"));
    this.dictation = new Dictation(byId("dictate"), this.composer.field, {
      announce: (sentence) => this.announce(sentence),
      onProblem: (sentence) => this.showNotice(sentence),
    });
    return this.dictation;
  });

  /** Load the part that switches between versions of messages; most chats have none. */
  loadAlternatives = loadOnce(async () => {
    this.#hasAlternatives = true; // what happens while they are loaded is for them
    const { Alternatives } = await load(() => import("./alternatives.js"));
    return new Alternatives(byId("alternatives"), {
      conversation: this.conversation,
      url: this.url,
      onSwitch: (seq) => this.socket.send("switch", { seq }),
      onLoaded: (frames) => this.#showLoaded(frames, { isEarlier: false }),
      announce: (sentence) => this.announce(sentence),
      onProblem: (sentence) => this.showNotice(sentence),
    });
  });

  /** Load the part that shows the steps of workflows; most agents have none. */
  loadSteps = loadOnce(async () => {
    const { Steps } = await load(() => import("./steps.js"));
    return new Steps(this.conversation, byId("log").dataset.steps);
  });

  // Handlers of frames, by type.
  #handlers = {
    ready: (frame) => this.#handleReady(frame),
    event: (frame) => this.#handleEvent(frame),
    partial: (frame) => {
      this.live.write(frame);
      this.scroll.offerNewest();
    },
    invocation: (frame) => {
      this.#updatedSinceReady.add(frame.id);
      this.#handleInvocation(frame);
      // The text of a completed answer is in an event, which comes before this frame; if it did not, the text stays until
      // it is here. An answer that failed or was stopped may have no such event.
      if (frame.status === "completed" && this.live.invocationIds.includes(frame.id)) this.socket.hello();
      else if (hasEnded(frame.status)) this.live.drop(frame.id);
    },
    job: (frame) => {
      this.#showJob(frame);
      if (this.jobs.hasActive) this.notifications.offer();
    },
    schedule: (frame) => this.schedules.update(frame),
    call: ({ id, state, seconds }) => {
      const card = this.conversation.find(`.tool[data-call-id="${CSS.escape(id)}"]`);
      if (card && !("longRunning" in card.dataset)) showEnd(card, state, seconds);
    },
    sessions: () => this.chats?.refresh(),
    error: (frame) => {
      this.#enableControls();
      if (!this.outbox.refuse(frame.in_reply_to, frame.message)) this.showNotice(frame.message);
    },
  };

  #handleFrame(frame) {
    this.#handlers[frame.type]?.(frame);
    if (frame.type === "event" || frame.type === "invocation") this.newChat?.begin();
    if (!["event", "partial", "pong"].includes(frame.type)) this.activity?.refresh();
    if (frame.type !== "partial") this.#showSteps();
    this.#showWork();
    this.#reportSeen();
  }

  #showSteps() {
    if (this.conversation.find("[data-node]")) this.loadSteps().then((steps) => steps.update());
  }

  #handleReady(frame) {
    this.#enableControls();
    this.#lastSeen = 0;
    this.#updatedSinceReady = new Set();
    this.chats?.refresh(); // news from before the connection, or from a page out of the browser's cache, may be missing
    const haveEnded = this.invocations.replaceActive(frame.invocation);
    // Text of the current invocation stays until the server sends it again, from its start.
    const ids = this.live.invocationIds.filter((id) => id !== frame.invocation?.id);
    this.#ended = { seq: frame.seq, ids };
    this.#dropEnded();
    for (const job of frame.jobs) this.#showJob(job);
    this.schedules.replace(frame.schedules);
    this.outbox.resend();
    if (haveEnded || !this.outcomes.isEmpty) this.#readOutcomes(frame.seq); // another tab may retry
  }

  #handleEvent(frame) {
    if (!this.conversation.add(frame)) return;
    const { event, rewound_from: rewoundFrom } = frame;
    if (rewoundFrom) {
      this.outcomes.handleRewind();
      this.edit?.handleRewind();
    }
    if (rewoundFrom || this.#hasAlternatives)
      this.loadAlternatives().then((alternatives) => alternatives.handle(frame));
    this.picker.follow(event.actions?.stateDelta ?? {});
    this.live.finish(event.id);
    this.#dropEnded();
    if (event.customMetadata?.adk_resumed) this.live.adoptLease(event.customMetadata.adk_resumed);
    this.outbox.reconcile(event.invocationId);
    this.outcomes.refresh(event.customMetadata?.adk_answer?.invocation ?? event.invocationId);
    this.#completeRows();
    if (byId("state")) showStateDelta(byId("state"), frame);
    if (byId(`event-${frame.seq}`)) this.scroll.offerNewest();
    this.news.update();
  }

  #handleInvocation(frame) {
    const text = frame.text ?? this.outbox.textOf(frame.client_id);
    this.invocations.update(frame);
    this.outbox.acknowledge(frame);
    this.outcomes.show({ ...frame, text });
    this.news.note("invocation", frame);
  }

  // Drop the text of invocations that ended while the page was disconnected, once their events are on the page.
  #dropEnded() {
    const { seq, ids } = this.#ended;
    if (this.conversation.lastSeq < seq) return;
    for (const id of ids.splice(0)) this.live.drop(id);
  }

  #showJob(frame) {
    this.jobs.show(frame);
    this.news.note("job", frame);
    if (!frame.question) return;
    this.announce(frame.question.text); // screen readers skip the cards, which change often
    this.scroll.offerNewest();
  }

  // Show the outcomes of invocations that ended while the page was disconnected. Frames that arrive during the request
  // are newer than its response, and with them its last invocation is not the latest.
  async #readOutcomes(seq) {
    const updated = this.#updatedSinceReady;
    const page = await readLogPage(this.url, seq + 1).catch(() => null);
    if (!page || updated !== this.#updatedSinceReady) return;
    const frames = page.invocations;
    for (const frame of frames) {
      const isEarlier = updated.size > 0 || frame !== frames.at(-1);
      if (!updated.has(frame.id)) this.#handleInvocation({ ...frame, isEarlier });
    }
  }

  // Show the events that were loaded by HTTP, with their invocations.
  #showLoaded(frames, { isEarlier }) {
    for (const frame of frames) this.outcomes.show({ ...frame, isEarlier });
    this.#completeRows();
    if (this.#hasAlternatives) this.loadAlternatives().then((alternatives) => alternatives.place());
  }

  // Show the parts of rows that only this page has: actions, jobs and forms.
  #completeRows() {
    this.actions.update();
    this.jobs.showPending();
    this.answers.update();
    this.#showSteps();
  }

  #sendWritten(text, files) {
    this.dictation?.drop();
    this.#send(text, this.edit?.finish(), files);
  }

  #send(text, replaces, files) {
    this.showNotice("");
    this.outbox.send(text, replaces, files);
    this.scroll.toEnd();
  }

  #deliver(message) {
    this.newChat?.noteUnsent();
    return this.socket.isReady && this.socket.send("message", { ...message, ...this.picker.fields });
  }

  // Request what is missing, but not again for every frame that arrives before the response.
  #fillGap(request) {
    if (Date.now() - this.#lastGapRequest < GAP_REQUEST_INTERVAL) return;
    this.#lastGapRequest = Date.now();
    request();
  }

  // Enable what waits for a reply of the server: a request may be lost with its connection.
  #enableControls() {
    this.composer.stopButton.disabled = false;
    enableConfirmations(this.conversation);
    this.outcomes.enableRetry();
  }

  #showConnection(state) {
    const connection = byId("connection");
    const words = byId("connection-words").content.querySelector(`[data-state=${state}]`);
    const hasEnded = "isEnd" in words.dataset;
    connection.dataset.state = state;
    connection.textContent = words.textContent;
    connection.parentElement.hidden = hasEnded; // a notice has the same words
    if (!hasEnded) return;
    ChatStorage.freeze();
    this.showNotice(words.textContent);
    this.main.dataset.ended = "";
    this.composer.close();
  }

  #showWork() {
    const { current, currentWithStatus } = this.invocations;
    this.composer.running = current;
    this.main.toggleAttribute("data-busy", current !== null);
    this.waiting.update(currentWithStatus, { isWriting: !this.live.isEmpty });
    if (!current && !this.jobs.hasActive) this.notifications.withdrawOffer();
  }

  // Tell the server how much the person has seen: other tabs do not show it as unread.
  #reportSeen() {
    const seq = this.conversation.lastSeq;
    if (document.hidden || !this.socket.isReady || this.invocations.current || seq <= this.#lastSeen) return;
    if (this.socket.send("seen", { seq })) this.#lastSeen = seq;
  }

  // Handle the first message of a new chat.
  #handleBegin(storage) {
    this.socket.url.searchParams.delete("new");
    this.composer.moveDraft(storage);
    byId("files").hidden = false;
    this.chats?.refresh(0);
  }

  #showTitle(title) {
    byId("title").textContent = title;
    this.#showWindowTitle();
  }

  #showWindowTitle() {
    const parts = [this.news.words, byId("title").textContent, this.main.dataset.site];
    document.title = parts.filter(Boolean).join(" · ").replace(BIDI_CONTROLS, "");
  }

  #listen() {
    const { log } = this.conversation;
    listenForAnswers(log, this);
    log.addEventListener("click", async ({ target }) => {
      const button = target.closest("button");
      if (!button) return;
      if ("edit" in button.dataset) (await this.loadEdit()).start(button.closest("article"));
      if ("askAgain" in button.dataset) this.answers.withdraw(button);
      if (button.matches(".unfold")) toggleSaid(button);
    });
    // Loaded before its button is pressed: what is typed next belongs to the edit.
    const prepare = () => this.loadEdit().catch(() => {}); // the button tries again
    for (const type of ["pointerover", "focusin"]) log.addEventListener(type, prepare, { once: true });
    byId("notice").lastElementChild.addEventListener("click", () => {
      this.showNotice("");
      this.takeFocus();
    });
    byId("reconnect").addEventListener("click", () => {
      this.socket.retry();
      this.takeFocus();
    });
    const dictate = byId("dictate");
    if (dictate && ("SpeechRecognition" in window || "webkitSpeechRecognition" in window)) {
      dictate.hidden = false;
      dictate.addEventListener("click", async () => (await this.loadDictation()).toggle());
    }
    byId("hello").addEventListener("click", ({ target }) => {
      const starter = target.closest(".starter");
      if (starter) this.#send(starter.textContent, undefined, []);
    });
    addEventListener("visibilitychange", () => {
      this.#reportSeen();
      for (const root of this.conversation.chunks.roots) showLocalTimes(root); // of another day
    });
    showMissingParts((sentence) => this.showNotice(sentence));
    forgetOnSignOut();
  }
}

/** The page, for the modules that it does not import. */
export const page = new ChatPage(byId("main"));
page.start();
byId("not-started")?.remove();
