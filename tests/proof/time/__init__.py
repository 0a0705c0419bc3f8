"""Time that misbehaves: processes that stand still past their leases, clocks that jump or differ, nights on which clocks change."""
