-- A submission is no decision. The customer keeps the newest decision, and says that a submission waits for one.

alter table customers add column kyc_review_pending boolean not null default false;

create index customers_kyc_review on customers (created_at, id) where kyc_review_pending;

update customers c set kyc_review_pending = newest.verification_status = 'pending'
from (
  select distinct on (customer_id) customer_id, verification_status
  from kyc_records order by customer_id, id desc
) newest
where newest.customer_id = c.id;

-- What agents submitted must no longer hide the decision before it.
update customers c set kyc_status = decision.verification_status
from (
  select distinct on (k.customer_id) k.customer_id, k.verification_status
  from kyc_records k left join users u on u.id = k.created_by
  where k.verification_status <> 'pending' or u.role is distinct from 'agent'
  order by k.customer_id, k.id desc
) decision
where decision.customer_id = c.id and c.kyc_status is distinct from decision.verification_status;
