"""A tab that a test can hide, and a browser's notifications that it can answer and read.

Chromium without a window never hides a page and has no notifications, so that scripts stand in for both.
"""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

CAN_HIDE = """
(() => {
  let isHidden = false;
  Object.defineProperty(Document.prototype, "hidden", { get: () => isHidden, configurable: true });
  window.setHidden = (value) => {
    isHidden = value;
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  };
})();
"""
NOTIFICATIONS = """
((permission, answer) => {
  window.shownNotifications = [];
  window.requests = 0;
  window.focus = () => (window.wasFocused = true);
  window.Notification = class {
    static permission = permission;
    static async requestPermission() {
      window.requests += 1;
      return (Notification.permission = answer);
    }
    constructor(title, options) {
      Object.assign(this, { title, ...options });
      shownNotifications.push(this);
    }
    close() {
      this.isClosed = true;
    }
  };
})
"""
NO_NOTIFICATIONS = "delete window.Notification;"


def allow_hiding(page: Page) -> None:
    """Let `hide` work on pages that the tab opens from now on."""
    page.add_init_script(CAN_HIDE)


def hide(page: Page, is_hidden: bool = True) -> None:
    """Hide the tab, or show it again."""
    page.evaluate("(value) => setHidden(value)", is_hidden)


def give_notifications(page: Page, permission: str = "default", answer: str = "granted") -> None:
    """Give the pages that the tab opens from now on a Notification API with the permission.

    Args:
        answer: What the person answers when the browser asks.
    """
    page.add_init_script(f"{NOTIFICATIONS}({permission!r}, {answer!r});")


def shown_notifications(page: Page) -> list[dict[str, Any]]:
    """Return the fields of the notifications that the page has shown."""
    shown: list[dict[str, Any]] = page.evaluate(
        "shownNotifications.map((each) => ({ ...each, onclick: undefined }))"
    )
    return shown
