-- unhook: forgets a hook; jobs it made stay.
DELETE FROM tenure_hooks WHERE kind = :kind AND hook = :hook
