-- The database and its two roles. Run it once, on the primary: su - postgres -c psql <roles.sql
--
-- ams_owner owns everything and runs the migrations: npm run migrate, npm run restore.
-- ams is the role of the service. It reads and writes rows, but cannot change tables, drop them, or disable the triggers that
-- keep posted entries unchanged.
\set ON_ERROR_STOP on

create role ams_owner login password 'PASSWORD_OF_OWNER';
create role ams login password 'PASSWORD_OF_SERVICE';
create database ams owner ams_owner;
revoke all on database ams from public;
grant connect on database ams to ams;

\connect ams
-- For everything that a migration creates, now and later.
alter default privileges for role ams_owner grant usage on schemas to ams;
alter default privileges for role ams_owner grant select, insert, update, delete on tables to ams;
alter default privileges for role ams_owner grant usage, select, update on sequences to ams;
