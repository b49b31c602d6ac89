"""iCalendar (RFC 5545) as far as mail needs it: what an invitation says, and the answer to one (iTIP, RFC 5546)."""
