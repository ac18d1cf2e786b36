INSERT INTO journal VALUES (:client_id, 'something that happened');
