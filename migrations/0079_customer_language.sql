-- The language of documents and texts for a customer. Null: the language of the company (DOCUMENT_LANGUAGE).
create type customer_language as enum ('en', 'sw');
alter table customers add column language customer_language;
