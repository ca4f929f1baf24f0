-- What kind of request it is within its pass (`turn 2`, `cold`), where the workload has several.
ALTER TABLE requests ADD COLUMN class TEXT;
