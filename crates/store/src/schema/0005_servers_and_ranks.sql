-- The index of the server and of the rank of a request, from 0. NULL if there was only one.
ALTER TABLE requests ADD COLUMN server INTEGER;
ALTER TABLE requests ADD COLUMN rank INTEGER;
