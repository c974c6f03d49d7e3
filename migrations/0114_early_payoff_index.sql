-- Outside a transaction: requests continue while the index is built. Health checks ask whether there is a payoff. It is empty until the
-- first payoff.
drop index concurrently if exists plan_changes_payoff;
create index concurrently plan_changes_payoff on plan_changes (account_id) where kind = 'payoff';
