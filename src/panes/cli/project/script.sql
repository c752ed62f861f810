-- What each user did from a login to the next logout, and how each of their events follows on the one before.
--   panes run script.sql --flush              shows the rows of both queries
--   panes run script.sql --checkpoint state   waits for new files in data/ until Ctrl-C
--   panes check script.sql                    only looks for mistakes
CREATE STREAM events (
  at TIMESTAMP, who STRING, event STRING, amount INT,
  WATERMARK FOR at AS at - INTERVAL 10 SECONDS
) WITH (connector = 'json', path = 'data');

SELECT who, count(*) AS events, sum(amount) AS spent, window_start() AS login, window_end() AS logout
FROM events
GROUP BY statewindow(event = 'login', event = 'logout') OVER (PARTITION BY who), who;

SELECT who, at, event, lag(event) OVER (PARTITION BY who ORDER BY at) AS came_after
FROM events;
