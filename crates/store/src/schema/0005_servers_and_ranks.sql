-- Which of several servers behind one load a request was for, and which of several ranks sent it, from 0; NULL
-- where there was one.
ALTER TABLE requests ADD COLUMN server INTEGER;
ALTER TABLE requests ADD COLUMN rank INTEGER;
