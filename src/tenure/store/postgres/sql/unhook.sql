-- unhook: forgets a hook; jobs it made stay.
DELETE FROM tenure.hooks WHERE kind = :kind::text AND hook = :hook::text
