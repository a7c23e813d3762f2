/** Tables as an older version created them, with an entry and the settings of its service. */
export const tablesOfVersion1 = `
CREATE TABLE issuing_outbox_entries (
  id INTEGER PRIMARY KEY,
  topic text NOT NULL,
  name text NOT NULL,
  state text NOT NULL,
  rank integer,
  due bigint NOT NULL
);
CREATE TABLE issuing_outbox_entries_bodies (id INTEGER PRIMARY KEY, body text NOT NULL);
CREATE TABLE issuing_outbox_entries_breakers (topic text PRIMARY KEY, failed text NOT NULL);
CREATE TABLE issuing_outbox_settings (
  id integer PRIMARY KEY,
  version integer NOT NULL,
  url text,
  namespace text
);
INSERT INTO issuing_outbox_entries VALUES (1, 'tpl_1', 'user 1', 'waiting', 2, 0);
INSERT INTO issuing_outbox_settings VALUES (1, 1, 'https://loyalty.example.com', '');
`;
