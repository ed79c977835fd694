"""Operations on the account of an API key: the key itself, other keys, and webhooks."""

from collections.abc import Sequence
from datetime import datetime

from adk_client.calls import Call, Id, address_part
from adk_client.models import Account, Delivery, Key, Webhook
from adk_client.operation import Operation


class AccountOperations:
    """Operations that do not belong to a session."""

    @Operation
    def me(self) -> Call[Account]:
        """Return the key's owner, and the rights of the key."""
        return Call("GET", "/me", Account)

    @Operation
    def keys(self) -> Call[list[Key]]:
        """List the owner's keys, newest first."""
        return Call("GET", "/keys", list[Key])

    @Operation
    def create_key(
        self,
        name: str,
        scopes: Sequence[str],
        *,
        expires_at: datetime | None = None,
        requests_per_minute: int = 0,
        tokens_per_day: int = 0,
    ) -> Call[Key]:
        """Create a key. If a response was lost, the next attempt may raise `ConflictError`: create another key."""
        body = {
            "name": name,
            "scopes": [*scopes],
            "expires_at": expires_at.isoformat() if expires_at else None,
            "requests_per_minute": requests_per_minute,
            "tokens_per_day": tokens_per_day,
        }
        return Call("POST", "/keys", Key, json=body)

    @Operation
    def revoke_key(self, key_id: Id) -> Call[None]:
        """Revoke a key, and all keys created with it."""
        return Call("DELETE", f"/keys/{address_part(key_id)}", None)

    @Operation
    def webhooks(self) -> Call[list[Webhook]]:
        """List the webhooks."""
        return Call("GET", "/webhooks", list[Webhook])

    @Operation
    def create_webhook(self, url: str, events: Sequence[str]) -> Call[Webhook]:
        """Create a webhook. Only this response contains its `secret`."""
        return Call("POST", "/webhooks", Webhook, json={"url": url, "events": [*events]})

    @Operation
    def delete_webhook(self, webhook_id: Id) -> Call[None]:
        """Delete a webhook with its deliveries."""
        return Call("DELETE", f"/webhooks/{address_part(webhook_id)}", None)

    @Operation
    def test_webhook(self, webhook_id: Id) -> Call[Delivery]:
        """Request the delivery of the event `test` to a webhook, and return it."""
        return Call("POST", f"/webhooks/{address_part(webhook_id)}/test", Delivery)

    @Operation
    def deliveries(self, webhook_id: Id, *, before: int | None = None) -> Call[list[Delivery]]:
        """List the deliveries to a webhook, newest first; `before` is the `id` at which the next page begins."""
        path = f"/webhooks/{address_part(webhook_id)}/deliveries"
        return Call("GET", path, list[Delivery], query={"before": before})
