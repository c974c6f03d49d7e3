-- The name of the identity provider through which a session began. Null: a password, or a version that did not store it.
alter table sessions add column identity_provider text;
