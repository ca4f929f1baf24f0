-- The kind of the request (`turn 2`, `cold`), if the workload has several kinds.
ALTER TABLE requests ADD COLUMN class TEXT;
