-- The provider says that there is no such transaction.
alter type status_query_state add value 'not_found' after 'answered';
