-- A collections officer: reads customers and accounts, and calls late customers. No money, no sales.
alter type user_role add value 'collector' after 'agent';
