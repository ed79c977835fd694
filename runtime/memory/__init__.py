"""Memory: search the text of earlier sessions."""

from runtime.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from runtime.memory.in_memory_memory_service import InMemoryMemoryService
from runtime.memory.memory_entry import MemoryEntry

__all__ = ["BaseMemoryService", "InMemoryMemoryService", "MemoryEntry", "SearchMemoryResponse"]
